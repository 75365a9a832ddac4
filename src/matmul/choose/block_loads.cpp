// SPDX-License-Identifier: Apache-2.0
#include "matmul/choose/block_loads.hpp"

namespace zemm::matmul {

namespace {

zemm_dim_t bytes_of(const memory_desc &md, zemm_dim_t elements) {
    return elements * data_type_bits(md.data_type) / 8;
}

// The hardware's limits for a matrix that 2-D block loads read: alignment of its base, length of
// its rows and their pitch, all in bytes. inner is the contiguous dimension. Its rows must be
// multiples of 4 bytes, or the load would read past their end. They must be 64 bytes shorter than
// the limit, because the kernel rounds the base down to a multiple of 64
// (owner/sub_group/surface.h).
bool can_read_2d(const memory_desc &md, int inner, int outer, zemm_dim_t outer_dim) {
    constexpr zemm_dim_t limit = 1 << 24;
    const auto is_multiple = [&](zemm_dim_t elements, zemm_dim_t unit) {
        const zemm_dim_t bytes = bytes_of(md, elements);
        return (data_type_bits(md.data_type) >= 8 || elements % 2 == 0) && bytes % unit == 0;
    };
    if (md.strides[inner] != 1 || outer_dim >= limit || !is_multiple(md.dims[inner], 4) ||
        bytes_of(md, md.dims[inner]) < 64 || bytes_of(md, md.dims[inner]) > limit - 64 ||
        !is_multiple(md.offset0, 4))
        return false;
    for (int d = 0; d < md.ndims - 2; ++d)
        if (md.dims[d] > 1 && !is_multiple(md.strides[d], 4))
            return false;
    const zemm_dim_t pitch = outer_dim == 1 ? zemm_dim_t(64) : md.strides[outer];
    return is_multiple(pitch, 16) && bytes_of(md, pitch) < limit;
}

} // namespace

bool can_read_src_1d(const memory_desc &src) {
    const int column = src.ndims - 1;
    const auto is_aligned = [&](zemm_dim_t elements) { return bytes_of(src, elements) % 4 == 0; };
    if (src.strides[column] != 1 || !is_aligned(src.dims[column]) || !is_aligned(src.offset0))
        return false;
    for (int d = 0; d < column; ++d)
        if (src.dims[d] > 1 && !is_aligned(src.strides[d]))
            return false;
    return true;
}

bool can_read_src_2d(const memory_desc &src, zemm_dim_t rows) {
    const int column = src.ndims - 1;
    return can_read_2d(src, column, column - 1, rows);
}

bool can_read_wei_2d(const memory_desc &wei) {
    const int row = wei.ndims - 2, column = row + 1;
    return (data_type_bits(wei.data_type) >= 8 && can_read_2d(wei, column, row, wei.dims[row])) ||
           can_read_2d(wei, row, column, wei.dims[column]);
}

} // namespace zemm::matmul
