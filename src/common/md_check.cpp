// SPDX-License-Identifier: Apache-2.0
// Checks shapes, strides and whole descriptors.
#include "common/md_check.hpp"

#include <algorithm>

#include "common/error.hpp"
#include "common/names.hpp"

namespace zemm {

void check_data_type(const char *caller, const char *name, zemm_data_type_t dt) {
    if (!is_md_data_type(dt))
        fail(zemm_invalid_arguments, "%s: %s %d (%s) is not a type of tensor elements", caller, name, int(dt),
             data_type_name(dt));
}

zemm_dim_t checked_mul(const char *caller, zemm_dim_t a, zemm_dim_t b) {
    zemm_dim_t product = 0;
    if (__builtin_mul_overflow(a, b, &product))
        fail(zemm_invalid_arguments, "%s: the dims describe more elements than 64 bits count (%lld * %lld)",
             caller, (long long)a, (long long)b);
    return product;
}

void check_shape(const char *caller, int ndims, const zemm_dim_t *dims, zemm_data_type_t dt) {
    if (ndims < 0 || ndims > ZEMM_MAX_NDIMS)
        fail(zemm_invalid_arguments, "%s: ndims %d is outside 0..%d", caller, ndims, ZEMM_MAX_NDIMS);
    if (ndims > 0 && !dims)
        fail(zemm_invalid_arguments, "%s: dims is NULL with ndims %d", caller, ndims);
    check_data_type(caller, "data_type", dt);
    zemm_dim_t volume = 1;
    for (int d = 0; d < ndims; d++) {
        if (dims[d] == runtime_dim)
            continue;
        if (dims[d] < 0)
            fail(zemm_invalid_arguments, "%s: dims[%d]=%lld is negative", caller, d, (long long)dims[d]);
        // Count zeros as 1: the strides of an empty tensor are products of its other dims, and they
        // must not overflow either.
        volume = checked_mul(caller, volume, std::max<zemm_dim_t>(dims[d], 1));
    }
    checked_mul(caller, volume, bytes_of(dt, 1));
}

void check_nnz(const char *caller, zemm_dim_t nnz) {
    if (nnz == runtime_dim)
        return;
    if (nnz < 0)
        fail(zemm_invalid_arguments, "%s: nnz %lld is negative", caller, (long long)nnz);
    checked_mul(caller, nnz, 8); // bytes of the widest type
}

void check_rows(const char *caller, zemm_dim_t rows) {
    if (rows != runtime_dim)
        checked_mul(caller, rows, 16); // a pointer for each row, and one more, is less than this
}

namespace {

// Whether dimension d has more than one block, so that its stride has an effect.
bool is_stepped(const memory_desc &md, const blocks &b, int d) {
    return block_count(md, b, d) != 1;
}

// Rows of types of fewer than 8 bits.
void check_rows_of_bytes(const char *caller, const memory_desc &md, const blocks &b) {
    const int span = span_of(md.data_type);
    for (int d = 0; d < md.ndims; d++) {
        const zemm_dim_t stride = md.strides[d];
        if (is_stepped(md, b, d) && stride > 1 && stride % span)
            fail(zemm_invalid_arguments,
                 "%s: strides[%d]=%lld is no multiple of %d, but %d elements of the %d-bit type %s share %s",
                 caller, d, (long long)stride, span, span, data_type_bits(md.data_type),
                 data_type_name(md.data_type), crosses_bytes(md.data_type) ? "bytes" : "a byte");
    }
}

// Checks, from the smallest stride up, that each stride is at least the span of the dimensions
// inside it.
void check_no_overlap(const char *caller, const memory_desc &md, const blocks &b) {
    int order[ZEMM_MAX_NDIMS];
    for (int d = 0; d < md.ndims; d++)
        order[d] = d;
    std::stable_sort(order, order + md.ndims, [&](int x, int y) { return md.strides[x] < md.strides[y]; });
    zemm_dim_t span = b.total;
    for (int i = 0; i < md.ndims; i++) {
        const int d = order[i];
        const zemm_dim_t stride = md.strides[d];
        if (stride == 0 || !is_stepped(md, b, d))
            continue;
        if (stride < span)
            fail(zemm_invalid_arguments,
                 "%s: strides[%d]=%lld is smaller than the %lld elements that the inner "
                 "dimensions span",
                 caller, d, (long long)stride, (long long)span);
        span = checked_mul(caller, stride, block_count(md, b, d));
    }
    zemm_dim_t end = 0;
    if (md.offset0 != runtime_dim && __builtin_add_overflow(span, md.offset0, &end))
        fail(zemm_invalid_arguments, "%s: the offset %lld is too large", caller, (long long)md.offset0);
    checked_mul(caller, end, bytes_of(md.data_type, 1));
}

} // namespace

void check_strides(const char *caller, const memory_desc &md) {
    bool known = true;
    for (int d = 0; d < md.ndims; d++) {
        if (md.strides[d] < 0 && md.strides[d] != runtime_dim)
            fail(zemm_invalid_arguments, "%s: strides[%d]=%lld is negative", caller, d,
                 (long long)md.strides[d]);
        // Elements of an empty tensor cannot overlap, and runtime strides and dims cannot be
        // checked before their values are known.
        known = known && md.padded_dims[d] > 0 && md.strides[d] >= 0;
    }
    if (!known)
        return;
    const blocks b = md_blocks(md);
    check_rows_of_bytes(caller, md, b);
    check_no_overlap(caller, md, b);
}

namespace {

void check_blocks(const char *caller, const memory_desc &md) {
    if (md.inner_nblks < 0 || md.inner_nblks > ZEMM_MAX_NDIMS)
        fail(zemm_invalid_arguments, "%s: %d inner blocks are outside 0..%d", caller, md.inner_nblks,
             ZEMM_MAX_NDIMS);
    zemm_dim_t total = 1;
    for (int i = 0; i < md.inner_nblks; i++) {
        if (md.inner_blks[i] < 1 || md.inner_idxs[i] < 0 || md.inner_idxs[i] >= md.ndims)
            fail(zemm_invalid_arguments, "%s: inner block %d (%lld elements of dimension %lld) is malformed",
                 caller, i, (long long)md.inner_blks[i], (long long)md.inner_idxs[i]);
        total = checked_mul(caller, total, md.inner_blks[i]);
    }
}

void check_padding(const char *caller, const memory_desc &md) {
    const blocks b = md_blocks(md);
    for (int d = 0; d < md.ndims; d++) {
        const zemm_dim_t dim = md.dims[d], padded = md.padded_dims[d];
        // Padding fills up the last block. A submemory that ends inside a block has no padding,
        // because the rest of the block may belong to its neighbour.
        const bool is_filled = padded >= dim && padded - dim < b.of[d] && padded % b.of[d] == 0;
        const bool fits = padded == dim || (dim != runtime_dim && is_filled);
        if (!fits || md.padded_offsets[d] != 0)
            fail(zemm_invalid_arguments,
                 "%s: padded_dims[%d]=%lld does not suit dims[%d]=%lld in blocks of %lld", caller, d,
                 (long long)padded, d, (long long)dim, (long long)b.of[d]);
    }
}

// The blocks of a packed tensor lie next to each other, and each has whole words of the bitmask.
void check_packed_layout(const char *caller, const memory_desc &md) {
    if (md_has_runtime(md))
        fail(zemm_invalid_arguments, "%s: a packed layout with runtime dims or nnz", caller);
    const memory_desc dense = md_unpacked(md);
    check_blocks(caller, dense);
    check_padding(caller, dense);
    check_strides(caller, dense);
    const blocks b = md_blocks(dense);
    zemm_dim_t volume = b.total, end = b.total;
    for (int d = 0; d < md.ndims; d++) {
        const zemm_dim_t count = block_count(dense, b, d);
        volume = checked_mul(caller, volume, std::max<zemm_dim_t>(count, 1));
        if (count > 1)
            end = std::max(end, count * md.strides[d]);
    }
    const bool is_empty = std::count(md.dims, md.dims + md.ndims, 0) != 0;
    if (b.total % 64 != 0 || (!is_empty && end != volume))
        fail(zemm_invalid_arguments,
             "%s: a packed layout has blocks of a multiple of 64 elements without gaps, not %s of %lld",
             caller, tag_text(dense).c_str(), (long long)b.total);
}

void check_sparse(const char *caller, const memory_desc &md) {
    const bool grouped = md.encoding == zemm_grouped, packed = md.encoding == zemm_packed;
    if (md.encoding < zemm_csr || md.encoding > zemm_grouped)
        fail(zemm_invalid_arguments, "%s: sparse encoding %d is unknown", caller, int(md.encoding));
    if (!packed && md.ndims > 2)
        fail(zemm_invalid_arguments, "%s: a %s tensor has no %d dims", caller,
             sparse_encoding_name(md.encoding), md.ndims);
    check_nnz(caller, md.nnz);
    check_rows(caller, md.dims[0]);
    checked_mul(caller, md.group_count, 8);
    if (packed && md.inner_nblks != 0)
        check_packed_layout(caller, md);
    const int types = md.encoding == zemm_csr ? 2 : packed ? 0 : 1;
    for (int i = 0; i < types; i++)
        check_data_type(caller, "metadata type", md.metadata_types[i]);
    if (grouped && (md.ndims != 2 || md.group_count < 1 || md.variable_dim < 0 || md.variable_dim > 1))
        fail(zemm_invalid_arguments, "%s: %lld groups along dimension %d of %d are malformed", caller,
             (long long)md.group_count, md.variable_dim, md.ndims);
}

} // namespace

void check_md(const char *caller, const memory_desc &md) {
    if (md.ndims == 0 && md_equal(md, memory_desc()))
        return;
    check_shape(caller, md.ndims, md.dims, md.data_type);
    if (md.ndims == 0)
        fail(zemm_invalid_arguments, "%s: a descriptor without dims has contents", caller);
    if (md.offset0 < 0 && md.offset0 != runtime_dim)
        fail(zemm_invalid_arguments, "%s: the offset %lld is negative", caller, (long long)md.offset0);
    if (md.format_kind == zemm_blocked)
        check_blocks(caller, md);
    if (!md_has_packed_layout(md)) // else below
        check_padding(caller, md);
    switch (md.format_kind) {
    case zemm_format_kind_any:
        if (std::count(md.dims, md.dims + md.ndims, runtime_dim))
            fail(zemm_invalid_arguments, "%s: format any with runtime dims", caller);
        break;
    case zemm_blocked:
        check_strides(caller, md);
        break;
    case zemm_format_kind_sparse:
        check_sparse(caller, md);
        break;
    case zemm_format_kind_host_scalar:
        if (md.ndims != 1 || md.dims[0] != 1)
            fail(zemm_invalid_arguments, "%s: a host scalar of %s elements", caller, dims_text(md).c_str());
        break;
    default:
        fail(zemm_invalid_arguments, "%s: format kind %d is unknown", caller, int(md.format_kind));
    }
}

} // namespace zemm
