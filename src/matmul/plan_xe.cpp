// SPDX-License-Identifier: Apache-2.0
#include "matmul/plan_xe.hpp"

#include <algorithm>
#include <cmath>

#include "matmul/packing.hpp"
#include "matmul/split.hpp"

namespace zemm::matmul {

namespace {

constexpr zemm_dim_t step_bytes = 32; // of K in a row of src for one DPAS

zemm_dim_t bytes_of(const memory_desc &md, zemm_dim_t elements) {
    return elements * data_type_bits(md.data_type) / 8;
}

// What the hardware asks of a matrix that 2-D block loads read: where it begins, how long its rows are and
// how far apart, all in bytes. The rows of `inner` elements must be whole fours of bytes, lest the load reads
// on.
bool can_read_2d(const memory_desc &md, int inner, int outer) {
    constexpr zemm_dim_t limit = 1 << 24;
    const auto is_multiple = [&](zemm_dim_t elements, zemm_dim_t unit) {
        const zemm_dim_t bytes = bytes_of(md, elements);
        return (!is_int4(md.data_type) || elements % 2 == 0) && bytes % unit == 0;
    };
    if (md.strides[inner] != 1 || md.dims[outer] >= limit || !is_multiple(md.dims[inner], 4) ||
        bytes_of(md, md.dims[inner]) < 64 || bytes_of(md, md.dims[inner]) > limit - 64 ||
        !is_multiple(md.offset0, 4))
        return false;
    for (int d = 0; d < md.ndims - 2; ++d)
        if (md.dims[d] > 1 && !is_multiple(md.strides[d], 4))
            return false;
    const zemm_dim_t pitch = md.dims[outer] == 1 ? zemm_dim_t(64) : md.strides[outer];
    return is_multiple(pitch, 16) && bytes_of(md, pitch) < limit;
}

// Sums of products of bytes, and zero points of a byte times sums of src, below 2^24 in magnitude.
bool zero_points_fit_f32(const problem &p) {
    const quant_entry *zp = p.zero_point(ZEMM_ARG_WEIGHTS);
    return p.integer() && zp && !zp->is_on_host && (is_int8(zp->data_type) || is_int4(zp->data_type)) &&
           !p.zero_point(ZEMM_ARG_SRC) && scales_along_k(p) && k_segment(p) <= 256;
}

// Whether a tile has registers of 32 bytes, its sums and a panel leave few of them, and zero points need
// some.
bool has_zero_points_beside(const problem &p, const kernel_row &row) {
    if (row.lanes != 8 || !p.integer() || scales_along_k(p) ||
        !(p.zero_point(ZEMM_ARG_SRC) || p.zero_point(ZEMM_ARG_WEIGHTS)))
        return false;
    constexpr int others = 72; // of zero points, addresses, what is under way
    const int sums = row.tile_m * row.tile_n / row.lanes;
    return sums + (row.tile_n + 8) * row.tile_k / (4 * row.lanes) + others > row.grf;
}

// Whether rows of dst, the whole batch's, are rows of src at one distance from each other.
bool src_rows_are_linear(const problem &p) {
    const int row = p.ndims() - 2;
    zemm_dim_t rows = p.src.dims[row];
    for (int d = row - 1; d >= 0; --d) {
        if (p.dst.dims[d] == 1)
            continue;
        if (p.src.dims[d] != p.dst.dims[d] || p.src.strides[d] != rows * p.src.strides[row])
            return false;
        rows *= p.src.dims[d];
    }
    return true;
}

} // namespace

bool loads_1d(const kernel_row &row) {
    return row.lanes == 8 || row.multiplies == operands::fma;
}

bool reads_src_2d(const problem &p) {
    const int row = p.ndims() - 2;
    memory_desc src = p.src;
    src.dims[row] = xe_rows(p);
    return can_read_2d(src, row + 1, row);
}

bool reads_wei_2d(const problem &p) {
    const int row = p.ndims() - 2, column = row + 1;
    if (is_packed(p.wei))
        return true;
    return (!is_int4(p.wei.data_type) && can_read_2d(p.wei, column, row)) || can_read_2d(p.wei, row, column);
}

bool reads_src_1d(const problem &p) {
    const int row = p.ndims() - 2;
    const auto is_aligned = [&](zemm_dim_t elements) { return bytes_of(p.src, elements) % 4 == 0; };
    if (p.src.strides[row + 1] != 1 || !is_aligned(p.k()) || !is_aligned(p.src.offset0))
        return false;
    for (int d = 0; d <= row; ++d)
        if (p.src.dims[d] > 1 && !is_aligned(p.src.strides[d]))
            return false;
    return true;
}

zemm_dim_t xe_rows(const problem &p) {
    return p.shares_weights() && src_rows_are_linear(p) ? p.batch() * p.m() : p.m();
}

bool splits_f32(const problem &p, const kernel_row &row) {
    return row.multiplies == operands::dpas_half && p.src.data_type == zemm_f32 &&
           p.attr.fpmath_mode != zemm_fpmath_mode_bf16 && p.attr.fpmath_mode != zemm_fpmath_mode_any;
}

int products_of_one(const problem &p, const kernel_row &row) {
    return !splits_f32(p, row) ? 1 : p.weight_only() ? 2 : 3; // integers have no rest
}

int xe_panel_k(const problem &p, const kernel_row &row) {
    // Integer weights of floats are read 32 at a time, too.
    const zemm_dim_t segment = k_segment(p);
    const bool is_half = row.multiplies == operands::dpas_half; // f32 becomes bf16
    const zemm_dim_t step = p.weight_only() ? step_bytes
                            : is_half       ? step_bytes / 2
                                            : step_bytes / bytes_of(p.src, 1);
    // Weights that are sums of two take twice the registers.
    const bool is_half_panel = (splits_f32(p, row) && !p.weight_only()) || has_zero_points_beside(p, row);
    zemm_dim_t panel = is_half_panel ? row.tile_k / 2 : row.tile_k;
    while (segment != p.k() && segment % panel != 0)
        panel -= step;
    return int(panel);
}

int xe_panels(const problem &p, const kernel_row &row) {
    // Parameters of floats are read for two panels at a time; integers have no registers for that.
    // One segment may be cut into ranges of any panels.
    const zemm_dim_t segment = k_segment(p);
    const bool are_two = row.multiplies != operands::fma && p.weight_only() && scales_along_k(p) &&
                         segment < p.k() && segment % (2 * xe_panel_k(p, row)) == 0;
    return are_two ? 2 : 1;
}

void xe_cut(const split &s, const ze::device &dev, zemm_dim_t batch, plan &result) {
    const kernel_row &row = *result.row;
    kernels::matmul_problem &block = result.block;
    const ze::gpu_model model = xe_model(dev);
    block.tile_rows = block.finish_rows = row.tile_m;
    block.group_x = int32_t(s.group_x);
    block.group_y = int32_t(s.group_y);
    // Groups that run at once make a rectangle that reads the least: as high as it is wide, in elements.
    const double at_once = double(model.xves() * model.threads(row.grf)) / double(s.tiles() * s.slices);
    const double high = std::sqrt(at_once * row.tile_n * double(s.group_x) / double(row.tile_m * s.group_y));
    block.groups_m = int32_t(s.along_m);
    block.strip = int32_t(std::clamp<zemm_dim_t>(zemm_dim_t(std::lround(high)), 1, s.along_m));
    block.whole_groups = int32_t(s.whole);
    block.slices = int32_t(s.slices);
    block.k_range = s.k_range;
    block.k_slice = s.k_slice;
    result.local_bytes = local_bytes(s, row);
    const bool in_rows = s.slices == 1 || s.tiles() == s.sub_groups(); // else the slices of one tile
    result.group_size = {uint32_t((in_rows ? s.group_x : s.slices) * row.work_items),
                         uint32_t(in_rows ? s.group_y : 1), 1};
    result.group_count = {uint32_t(groups(s.work_groups(), 1, "M x N")), uint32_t(batch), uint32_t(s.ranges)};
    if (s.ranges == 1)
        return;
    result.finish_count = {result.group_count[0], uint32_t(batch), 1};
    take_partials(result, s.along_n * s.group_x * row.tile_n, s.ranges);
}

void xe_pitches(const problem &p, kernels::matmul_problem &block) {
    // Strides of dimensions that are 1 are 0. One row has no distance to the next: any that loads take.
    const auto pitch_of = [](const memory_desc &md, int inner, int outer, zemm_dim_t rows) {
        const zemm_dim_t unit = 64 * 8 / data_type_bits(md.data_type);
        return rows > 1 ? md.strides[outer] : groups(md.dims[inner], unit, "a row") * unit;
    };
    const int row = p.ndims() - 2, column = row + 1;
    block.src.row = pitch_of(p.src, column, row, block.rows);
    if (p.k() == 1)
        block.wei.row = pitch_of(p.wei, column, row, 1);
    if (p.n() == 1)
        block.wei.column = pitch_of(p.wei, row, column, 1);
}

uint32_t xe_flags(const problem &p, const kernel_row &row, const kernels::matmul_problem &block) {
    uint32_t flags = p.k() % xe_panel_k(p, row) != 0 ? FLAG_PANEL_TAIL : 0;
    if (!loads_1d(row) && !is_packed(p.wei) && reads_wei_2d(p))
        flags |= FLAG_WEI_2D;
    if (block.rows == block.m)
        flags |= FLAG_ONE_MATRIX;
    if (splits_f32(p, row))
        flags |= FLAG_SPLIT_F32;
    return flags;
}

kernels::src_load xe_src_load(const problem &p, const kernel_row &row) {
    if (loads_1d(row))
        return reads_src_1d(p) ? kernels::SRC_LOAD_1D : kernels::SRC_LOAD_GATHER;
    return reads_src_2d(p) ? kernels::SRC_LOAD_2D : kernels::SRC_LOAD_GATHER;
}

kernels::zp_term xe_zp_term(const problem &p, const kernel_row &row) {
    if (!zero_points_fit_f32(p))
        return kernels::ZP_TERM_S32;
    // Xe-HPG has as many lanes for integers as for floats. A segment of 128 bytes adds up to less than 2^15.
    return row.lanes != 8        ? kernels::ZP_TERM_F32
           : k_segment(p) <= 128 ? kernels::ZP_TERM_S16
                                 : kernels::ZP_TERM_S32;
}

} // namespace zemm::matmul
