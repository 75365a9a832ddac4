// SPDX-License-Identifier: Apache-2.0
// Submemories, permutations and other data types of a descriptor.
#include <algorithm>

#include "common/error.hpp"
#include "common/md_check.hpp"
#include "common/md_ops.hpp"
#include "common/names.hpp"

namespace zemm {

memory_desc md_submemory(const memory_desc &parent, const zemm_dim_t *dims, const zemm_dim_t *offsets) {
    const char *const caller = "zemm_memory_desc_create_submemory";
    const int ndims = parent.ndims;
    if (ndims > 0)
        require(dims, "dims"), require(offsets, "offsets");
    if (md_has_runtime(parent) || std::count(dims, dims + ndims, runtime_dim) ||
        std::count(offsets, offsets + ndims, runtime_dim))
        fail(zemm_unimplemented, "%s: runtime values in the parent, dims or offsets", caller);
    for (int d = 0; d < ndims; d++)
        if (dims[d] < 0 || offsets[d] < 0 || offsets[d] > parent.dims[d] - dims[d])
            fail(zemm_invalid_arguments, "%s: dims[%d]=%lld at offset %lld is outside the parent's %lld",
                 caller, d, (long long)dims[d], (long long)offsets[d], (long long)parent.dims[d]);
    if (ndims == 0)
        return {};
    if (parent.format_kind != zemm_blocked)
        fail(zemm_unimplemented, "%s: the parent's format %s has no parts", caller,
             format_kind_name(parent.format_kind));
    const blocks b = md_blocks(parent);
    memory_desc md = parent;
    for (int d = 0; d < ndims; d++) {
        const zemm_dim_t block = b.of[d];
        const bool at_border = offsets[d] + dims[d] == parent.dims[d];
        if (offsets[d] % block || (dims[d] % block && dims[d] > block && !at_border))
            fail(zemm_unimplemented, "%s: dims[%d]=%lld at offset %lld cuts blocks of %lld", caller, d,
                 (long long)dims[d], (long long)offsets[d], (long long)block);
        md.dims[d] = dims[d];
        // As in oneDNN: a submemory that reaches the parent's end includes the parent's padding.
        // Other submemories have no padding.
        md.padded_dims[d] = at_border ? parent.padded_dims[d] - offsets[d] : dims[d];
        md.offset0 += offsets[d] / block * parent.strides[d];
    }
    return md;
}

memory_desc md_permute_axes(const memory_desc &in, const int *permutation) {
    const char *const caller = "zemm_memory_desc_permute_axes";
    require(permutation, "permutation");
    if ((in.format_kind != zemm_blocked && in.format_kind != zemm_format_kind_any) || md_has_runtime(in))
        fail(zemm_invalid_arguments, "%s: a descriptor of format %s with dims %s cannot be permuted", caller,
             format_kind_name(in.format_kind), dims_text(in).c_str());
    bool taken[ZEMM_MAX_NDIMS] = {};
    for (int d = 0; d < in.ndims; d++) {
        const int to = permutation[d];
        if (to < 0 || to >= in.ndims || taken[to])
            fail(zemm_invalid_arguments, "%s: permutation[%d]=%d is outside 0..%d or there twice", caller, d,
                 to, in.ndims - 1);
        taken[to] = true;
    }
    memory_desc out = in;
    for (int d = 0; d < in.ndims; d++) {
        const int to = permutation[d];
        out.dims[to] = in.dims[d];
        out.padded_dims[to] = in.padded_dims[d];
        out.padded_offsets[to] = in.padded_offsets[d];
        out.strides[to] = in.strides[d];
    }
    for (int i = 0; i < in.inner_nblks; i++)
        out.inner_idxs[i] = permutation[in.inner_idxs[i]];
    return out;
}

memory_desc md_with_data_type(const memory_desc &in, zemm_data_type_t dt) {
    const char *const caller = "zemm_memory_desc_set_data_type";
    check_data_type(caller, "data_type", dt);
    memory_desc md = in;
    if (md_is_zero(md))
        return md;
    md.data_type = dt;
    if (md.format_kind == zemm_blocked)
        check_strides(caller, md);
    return md;
}

} // namespace zemm
