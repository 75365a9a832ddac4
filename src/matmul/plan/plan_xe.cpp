// SPDX-License-Identifier: Apache-2.0
#include "matmul/plan/plan_xe.hpp"

#include <algorithm>
#include <cmath>

#include "matmul/choose/split.hpp"
#include "matmul/plan/constants.hpp"
#include "matmul/problem/sums.hpp"

namespace zemm::matmul {

// The sums of a segment must be below 2^22. Both scales must change along K. Scales of the weights
// must be f16: then 1.5 * 2^23 times the scale is exact in f32. Without zero points, Xe-HPG would copy
// 1.5 * 2^23 into each sum, which takes as long as the conversion.
bool sums_are_bits(const facts &f) {
    const problem &p = f.run();
    const quant_entry *scale = p.scale(ZEMM_ARG_WEIGHTS);
    const bool copies = f.family.multiplies_by == multiplier::dpas && f.family.has_small_registers();
    return p.integer() && changes_along_k(p, p.scale(ZEMM_ARG_SRC), false) &&
           changes_along_k(p, scale, true) && scale->data_type == zemm_f16 && !p.zero_point(ZEMM_ARG_SRC) &&
           (p.zero_point(ZEMM_ARG_WEIGHTS) ? zero_points_fit_f32(f) : !copies) &&
           f.segment <= longest_sum(p, (1 << 22) - 1);
}

void xe_cut(const split &s, const cut_choice &chosen, const ze::device &dev, zemm_dim_t batch, plan &result) {
    const kernel_row &row = *result.row;
    kernels::matmul_problem &block = result.argument_block;
    const ze::gpu_model model = xe_model(dev);
    block.tile_rows = block.finish_rows = row.tile_m;
    block.group_x = int32_t(s.group_x);
    block.group_y = int32_t(s.group_y);
    // The work-groups that run at the same time read least if their tiles form a square of dst
    // elements. high: its height in work-groups.
    const double at_once = double(model.xves() * model.threads(row.grf)) / double(s.tiles() * s.slices);
    const double high = std::sqrt(at_once * row.tile_n * double(s.group_x) / double(row.tile_m * s.group_y));
    // With groups of rows each entry of the table is a strip, however many there will be.
    const bool by_rows = result.has_row_groups();
    block.groups_m = by_rows ? INT32_MAX : int32_t(s.along_m);
    block.strip =
        int32_t(strip_of(chosen, zemm_dim_t(std::lround(high)), by_rows ? zemm_dim_t(1) : s.along_m, row));
    block.whole_groups = int32_t(s.whole);
    block.slices = int32_t(s.slices);
    block.k_range = s.k_range;
    block.k_slice = s.k_slice;
    result.local_bytes = local_bytes(s, row);
    const bool in_rows = s.slices == 1 || s.tiles() == s.sub_groups(); // else slices of one tile
    result.group_size = {uint32_t((in_rows ? s.group_x : s.slices) * row.traits().sub_group),
                         uint32_t(in_rows ? s.group_y : 1), 1};
    if (by_rows) {
        result.group_count = {uint32_t(s.along_n), 1, 1};
        result.tiles_along_m = uint32_t(s.group_y);
        return;
    }
    result.group_count = {work_groups(s.work_groups(), 1, "M x N"), uint32_t(batch), uint32_t(s.ranges)};
    if (s.ranges == 1)
        return;
    result.finish_count = {result.group_count[0], uint32_t(batch), 1};
    take_partials(result, s.along_n * s.group_x * row.tile_n, s.ranges);
}

void xe_pitches(const facts &f, kernels::matmul_problem &block) {
    // A dimension of 1 has stride 0. A matrix of one row has no pitch: any that block loads accept
    // will do.
    const auto pitch_of = [](const memory_desc &md, int inner, int outer, zemm_dim_t rows) {
        const zemm_dim_t unit = 64 * 8 / data_type_bits(md.data_type);
        return rows > 1 ? md.strides[outer] : checked_ceil_div(md.dims[inner], unit, "a row") * unit;
    };
    const problem &p = f.run();
    const int row = p.ndims() - 2, column = row + 1;
    block.src.row = pitch_of(p.src, column, row, f.matrix_rows);
    if (p.k() == 1)
        block.wei.row = pitch_of(p.wei, column, row, 1);
    if (p.n() == 1)
        block.wei.column = pitch_of(p.wei, row, column, 1);
}

uint32_t xe_flags(const facts &f) {
    const problem &p = f.run();
    uint32_t flags = 0;
    const auto set = [&](bool condition, uint32_t flag) { flags |= condition ? flag : 0; };
    set(p.k() % f.panel_k != 0, FLAG_PANEL_TAIL);
    set(f.wei == reading::blocks_2d, FLAG_WEI_2D);
    set(f.matrix_rows == p.m(), FLAG_ONE_MATRIX);
    set(f.splits_f32(), FLAG_SPLIT_F32);
    set(f.arranged != nullptr, FLAG_ARRANGED);
    set(sums_are_bits(f), FLAG_SUM_BITS);
    set(p.grouped == grouping::rows, FLAG_ROW_GROUPS);
    return flags;
}

kernels::src_load xe_src_load(const facts &f) {
    if (f.src == reading::blocks_2d)
        return kernels::SRC_LOAD_2D;
    return f.src == reading::blocks_1d ? kernels::SRC_LOAD_1D : kernels::SRC_LOAD_GATHER;
}

} // namespace zemm::matmul
