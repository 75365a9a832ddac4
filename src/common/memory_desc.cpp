// SPDX-License-Identifier: Apache-2.0
// Memory descriptors: predicates, equality and sizes.
#include "common/memory_desc.hpp"

#include <algorithm>

namespace zemm {

bool md_is_zero(const memory_desc &md) {
    return md.ndims == 0;
}

bool md_has_runtime(const memory_desc &md) {
    const auto has = [&](const zemm_dim_t *values) {
        return std::count(values, values + md.ndims, runtime_dim) > 0;
    };
    return has(md.dims) || has(md.strides) || md.offset0 == runtime_dim || md.nnz == runtime_dim;
}

zemm_dim_t broadcast_stride(const memory_desc &md, int d) {
    return md.dims[d] == 1 ? 0 : md.strides[d];
}

bool md_is_plain(const memory_desc &md) {
    return md.format_kind == zemm_blocked && md.inner_nblks == 0;
}

bool md_rows_begin_at(const memory_desc &md, int along, zemm_dim_t unit) {
    for (int d = 0; d < md.ndims; ++d)
        if (d != along && md.dims[d] > 1 && md.strides[d] % unit != 0)
            return false;
    return md.offset0 % unit == 0;
}

int md_shared_dim(const memory_desc &md) {
    for (int d = 0; d < md.ndims; ++d)
        if (md.strides[d] == 0 && md.dims[d] > 1)
            return d;
    return -1;
}

bool md_has_packed_layout(const memory_desc &md) {
    return md.format_kind == zemm_format_kind_sparse && md.encoding == zemm_packed && md.inner_nblks != 0;
}

bool md_is_sparse(const memory_desc &md) {
    return md.format_kind == zemm_format_kind_sparse;
}

bool md_is_grouped(const memory_desc &md) {
    return md_is_sparse(md) && md.encoding == zemm_grouped;
}

memory_desc md_unpacked(const memory_desc &md) {
    memory_desc blocked = md;
    blocked.format_kind = zemm_blocked;
    blocked.encoding = zemm_sparse_encoding_undef;
    blocked.nnz = 0;
    return blocked;
}

namespace {

bool same(const zemm_dim_t *a, const zemm_dim_t *b, int count) {
    return std::equal(a, a + count, b);
}

bool same_blocking(const memory_desc &a, const memory_desc &b) {
    if (a.inner_nblks != b.inner_nblks || !same(a.inner_blks, b.inner_blks, a.inner_nblks) ||
        !same(a.inner_idxs, b.inner_idxs, a.inner_nblks))
        return false;
    for (int d = 0; d < a.ndims; d++) {
        // The stride of a dimension with a single element is never used, so it may differ.
        if (a.dims[d] == 1 && a.padded_dims[d] == 1)
            continue;
        if (a.strides[d] != b.strides[d])
            return false;
    }
    return true;
}

bool same_sparse(const memory_desc &a, const memory_desc &b) {
    return a.encoding == b.encoding && (a.encoding != zemm_packed || same_blocking(a, b)) && a.nnz == b.nnz &&
           a.metadata_types[0] == b.metadata_types[0] && a.metadata_types[1] == b.metadata_types[1] &&
           a.variable_dim == b.variable_dim && a.group_count == b.group_count;
}

} // namespace

bool md_equal(const memory_desc &a, const memory_desc &b) {
    return a.ndims == b.ndims && a.data_type == b.data_type && a.format_kind == b.format_kind &&
           a.offset0 == b.offset0 && same(a.dims, b.dims, a.ndims) &&
           same(a.padded_dims, b.padded_dims, a.ndims) && same(a.padded_offsets, b.padded_offsets, a.ndims) &&
           (a.format_kind != zemm_blocked || same_blocking(a, b)) &&
           (a.format_kind != zemm_format_kind_sparse || same_sparse(a, b));
}

zemm_dim_t md_nelems(const memory_desc &md) {
    if (md_is_zero(md))
        return 0;
    zemm_dim_t product = 1;
    for (int d = 0; d < md.ndims; d++) {
        if (md.dims[d] == runtime_dim)
            return runtime_dim;
        product *= md.dims[d];
    }
    return product;
}

int md_num_handles(const memory_desc &md) {
    if (md.format_kind != zemm_format_kind_sparse)
        return 1;
    switch (md.encoding) {
    case zemm_csr:
    case zemm_coo:
        return md.ndims + 1;
    case zemm_packed:
        return 3;
    case zemm_grouped:
        return 2;
    default:
        return 1;
    }
}

blocks md_blocks(const memory_desc &md) {
    blocks b;
    std::fill_n(b.of, ZEMM_MAX_NDIMS, 1);
    b.total = 1;
    if (md.format_kind != zemm_blocked)
        return b;
    for (int i = 0; i < md.inner_nblks; i++) {
        b.of[md.inner_idxs[i]] *= md.inner_blks[i];
        b.total *= md.inner_blks[i];
    }
    return b;
}

zemm_dim_t block_count(const memory_desc &md, const blocks &b, int d) {
    return md.padded_dims[d] / b.of[d] + (md.padded_dims[d] % b.of[d] != 0);
}

namespace {

size_t bytes(zemm_dim_t elements, zemm_data_type_t dt) {
    return size_t(bytes_of(dt, elements));
}

size_t blocked_size(const memory_desc &md) {
    const blocks b = md_blocks(md);
    zemm_dim_t elements = b.total, last = md.offset0;
    for (int d = 0; d < md.ndims; d++) {
        const zemm_dim_t count = block_count(md, b, d);
        if (count > 1)
            elements = std::max(elements, count * md.strides[d]);
        last += (count - 1) * md.strides[d];
    }
    // A submemory needs the buffer up to the end of its last block. Its offset plus count * stride
    // could be past the end of the buffer.
    return bytes(md.offset0 == 0 ? elements : last + b.total, md.data_type);
}

// Values, the offset of each block's values (s64), and a bit for each element, which is 1 if it has a value.
size_t packed_size(const memory_desc &md, int index) {
    if (!md_has_packed_layout(md))
        return 0; // unknown until a matmul chooses the layout, as for format any
    const memory_desc dense = md_unpacked(md);
    const blocks b = md_blocks(dense);
    size_t count = 1; // of blocks
    for (int d = 0; d < md.ndims; d++)
        count *= size_t(block_count(dense, b, d));
    return index == 0   ? bytes(md.nnz, md.data_type)
           : index == 1 ? count * sizeof(int64_t)
                        : count * size_t(b.total) / 8;
}

size_t sparse_size(const memory_desc &md, int index) {
    switch (md.encoding) {
    case zemm_csr:
        // One pointer for the start of each row, and one for the end of the last row.
        return index == 0   ? bytes(md.nnz, md.data_type)
               : index == 1 ? bytes(md.nnz, md.metadata_types[0])
                            : bytes(md.dims[0] + 1, md.metadata_types[1]);
    case zemm_coo:
        return bytes(md.nnz, index == 0 ? md.data_type : md.metadata_types[0]);
    case zemm_grouped:
        return index == 0 ? bytes(md.nnz, md.data_type) : bytes(md.group_count, md.metadata_types[0]);
    case zemm_packed:
        return packed_size(md, index);
    default:
        return 0;
    }
}

} // namespace

size_t md_size(const memory_desc &md, int index) {
    if (md_is_zero(md) || index < 0 || index >= md_num_handles(md))
        return 0;
    if (md.format_kind == zemm_format_kind_any)
        return 0;
    if (std::count(md.dims, md.dims + md.ndims, 0))
        return 0;
    if (md_has_runtime(md))
        return ZEMM_RUNTIME_SIZE_VAL;
    switch (md.format_kind) {
    case zemm_blocked:
        return blocked_size(md);
    case zemm_format_kind_sparse:
        return sparse_size(md, index);
    case zemm_format_kind_host_scalar:
        return bytes(1, md.data_type);
    default:
        return 0;
    }
}

bool md_fits(const memory_desc &actual, const memory_desc &asked) {
    memory_desc filled = asked;
    filled.data_type = actual.data_type;
    filled.offset0 = actual.offset0;
    for (int d = 0; d < asked.ndims; ++d)
        for (const auto values : {&memory_desc::dims, &memory_desc::padded_dims, &memory_desc::strides})
            if ((asked.*values)[d] == runtime_dim)
                (filled.*values)[d] = (actual.*values)[d];
    return md_equal(actual, filled);
}

int runtime_dims_mask(const memory_desc &md) {
    int mask = 0;
    for (int d = 0; d < md.ndims; ++d)
        mask |= (md.dims[d] == runtime_dim) << d;
    return mask;
}

zemm_dim_t runtime_product(zemm_dim_t a, zemm_dim_t b) {
    return a == runtime_dim || b == runtime_dim ? runtime_dim : a * b;
}

} // namespace zemm
