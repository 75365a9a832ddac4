// SPDX-License-Identifier: Apache-2.0
#include "matmul/plan/plan_xe.hpp"

#include "matmul/choose/split.hpp"

namespace zemm::matmul {

void xe_cut(const split &s, zemm_dim_t batch, plan &result) {
    const kernel_row &row = *result.row;
    kernels::matmul_problem &block = *result.argument_block;
    block.tile_rows = block.adding_rows = row.tile_m;
    block.group_x = int32_t(s.group_x);
    block.group_y = int32_t(s.group_y);
    const bool by_rows = result.has_row_groups();
    block.groups_m = by_rows ? INT32_MAX : int32_t(s.along_m);
    block.strip = int32_t(s.strip);
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
    result.adding_count = {result.group_count[0], uint32_t(batch), 1};
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

uint32_t xe_flags(const facts &f, const arithmetic &a) {
    const problem &p = f.run();
    uint32_t flags = 0;
    const auto set = [&](bool condition, uint32_t flag) { flags |= condition ? flag : 0; };
    set(p.k() % f.panel_k != 0 || f.last_segment != f.segment, FLAG_PANEL_TAIL);
    set(f.wei_reading == reading::blocks_2d, FLAG_WEI_2D);
    set(f.matrix_rows == p.m(), FLAG_ONE_MATRIX);
    set(f.arranged != nullptr, FLAG_ARRANGED);
    set(a.sums_are_bits, FLAG_SUM_BITS);
    set(p.grouped == grouping::rows, FLAG_ROW_GROUPS);
    return flags;
}

kernels::src_load xe_src_load(const facts &f) {
    if (f.src_reading == reading::blocks_2d)
        return kernels::SRC_LOAD_2D;
    return f.src_reading == reading::blocks_1d ? kernels::SRC_LOAD_1D : kernels::SRC_LOAD_GATHER;
}

} // namespace zemm::matmul
