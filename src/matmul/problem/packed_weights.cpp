// SPDX-License-Identifier: Apache-2.0
#include "matmul/problem/packed_weights.hpp"

#include <algorithm>

#include "common/md_check.hpp"
#include "kernels/args/matmul_args.h"
#include "kernels/args/reorder_args.h"

namespace zemm::matmul {

namespace {

std::string packed_tag(const memory_desc &md) {
    const int bits = data_type_bits(md.data_type);
    const int row = md.ndims - 2, column = md.ndims - 1;
    std::string tag;
    for (int d = 0; d < row; ++d)
        tag += char('a' + d);
    tag += char('A' + column);
    tag += char('A' + row);
    const auto add = [&tag](int count, int d) { tag += std::to_string(count) + char('a' + d); };
    const int together = PACK_TOGETHER(bits);
    add(16, row);
    add(PACKED_N / together, column);
    if (bits <= 8)
        add(4, row);
    if (together > 1)
        add(together, column);
    return tag;
}

} // namespace

memory_desc weights_along_k(const memory_desc &md) {
    std::string tag;
    for (int d = 0; d < md.ndims; ++d)
        tag += char('a' + d);
    std::swap(tag[size_t(md.ndims) - 2], tag[size_t(md.ndims) - 1]);
    return md_with_string_tag(md.ndims, md.dims, md.data_type, tag.c_str());
}

memory_desc packed_weights(const memory_desc &md) {
    return md_with_string_tag(md.ndims, md.dims, md.data_type, packed_tag(md).c_str());
}

bool is_sparse_packed(const memory_desc &md) {
    return md_is_sparse(md) && md.encoding == zemm_packed;
}

memory_desc with_packed_layout(const memory_desc &md) {
    const memory_desc blocked = packed_weights(md);
    memory_desc made = md;
    made.inner_nblks = blocked.inner_nblks;
    std::ranges::copy(blocked.padded_dims, made.padded_dims);
    std::ranges::copy(blocked.strides, made.strides);
    std::ranges::copy(blocked.inner_blks, made.inner_blks);
    std::ranges::copy(blocked.inner_idxs, made.inner_idxs);
    return made;
}

bool is_packed_weights(const memory_desc &md) {
    if (md.format_kind != zemm_blocked || md.inner_nblks == 0 || md.ndims < 2)
        return false;
    const memory_desc packed = packed_weights(md);
    const int row = md.ndims - 2, column = md.ndims - 1;
    const auto stride_matters = [&](int d, zemm_dim_t block) { return packed.padded_dims[d] > block; };
    const blocks b = md_blocks(packed);
    return md.inner_nblks == packed.inner_nblks &&
           std::equal(md.inner_blks, md.inner_blks + md.inner_nblks, packed.inner_blks) &&
           std::equal(md.inner_idxs, md.inner_idxs + md.inner_nblks, packed.inner_idxs) &&
           (!stride_matters(row, b.of[row]) || md.strides[row] == packed.strides[row]) &&
           (!stride_matters(column, b.of[column]) || md.strides[column] >= packed.strides[column]);
}

} // namespace zemm::matmul
