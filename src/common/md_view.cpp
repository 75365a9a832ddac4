// SPDX-License-Identifier: Apache-2.0
// Submemories, permutations, reshapes and other data types of a descriptor: views of the same bytes.
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

namespace {

constexpr const char *reshape_caller = "zemm_memory_desc_reshape";

// Walks both shapes from the innermost dimension outwards, as oneDNN does. Each step takes from both
// shapes the shortest runs of dimensions that have the same number of elements.
class reshaper {
public:
    reshaper(const memory_desc &in, memory_desc &out)
        : in_(in), out_(out), blocks_(md_blocks(in)), i_(in.ndims), j_(out.ndims) {
        std::fill_n(moved_, ZEMM_MAX_NDIMS, -1);
    }

    void run() {
        while (i_ > 0 || j_ > 0) {
            if (i_ > 0 && in_.dims[i_ - 1] == 1 && in_.padded_dims[i_ - 1] == 1)
                --i_;
            else if (j_ > 0 && out_.dims[j_ - 1] == 1 && (i_ == 0 || in_.dims[i_ - 1] != 1))
                insert(--j_);
            else
                regroup();
        }
        for (int k = 0; k < in_.inner_nblks; k++)
            out_.inner_idxs[k] = moved_[in_.inner_idxs[k]];
    }

private:
    [[noreturn]] void refuse(int d) const {
        fail(zemm_invalid_arguments,
             "%s: dims[%d] of %s (%s) is not dense with its neighbours, so that %s is no view "
             "of the same bytes",
             reshape_caller, d, dims_text(in_).c_str(), tag_text(in_).c_str(), dims_text(out_).c_str());
    }

    // Gives a dimension of 1 the stride that it would have in a dense tensor: the span of the
    // dimensions inside it.
    void insert(int j) {
        out_.padded_dims[j] = 1;
        out_.strides[j] = i_ == in_.ndims ? blocks_.total : in_.strides[i_] * block_count(in_, blocks_, i_);
    }

    // Regroups the elements of as few dimensions of in_ as possible into dimensions of out_.
    void regroup() {
        const int end_i = i_, end_j = j_;
        if (i_ == 0 || j_ == 0)
            refuse(std::max(i_ - 1, 0));
        zemm_dim_t a = in_.dims[--i_], b = out_.dims[--j_];
        while (a != b) {
            // With an empty dimension one side may run out of dimensions.
            const bool grow_in = a < b;
            if ((grow_in ? i_ : j_) == 0)
                refuse(i_);
            zemm_dim_t &product = grow_in ? a : b;
            product *= grow_in ? in_.dims[--i_] : out_.dims[--j_];
            if (product == 0)
                refuse(i_);
        }
        if (end_i - i_ == 1 && end_j - j_ == 1) {
            out_.padded_dims[j_] = in_.padded_dims[i_];
            out_.strides[j_] = in_.strides[i_];
            moved_[i_] = j_;
            return;
        }
        zemm_dim_t stride = 0, expected = 0;
        for (int d = end_i - 1; d >= i_; d--) {
            if (blocks_.of[d] != 1 || in_.padded_dims[d] != in_.dims[d])
                refuse(d);
            if (in_.dims[d] == 1)
                continue;
            if (expected == 0)
                stride = expected = in_.strides[d];
            else if (in_.strides[d] != expected)
                refuse(d);
            expected *= in_.dims[d];
        }
        for (int d = end_j - 1; d >= j_; d--) {
            out_.padded_dims[d] = out_.dims[d];
            out_.strides[d] = stride;
            stride *= out_.dims[d];
        }
    }

    const memory_desc &in_;
    memory_desc &out_;
    const blocks blocks_;
    int i_, j_;                 // dimensions of in_ and out_ that are not done
    int moved_[ZEMM_MAX_NDIMS]; // by dimension of in_: its index in out_, -1 if it is not kept
};

} // namespace

memory_desc md_reshape(const memory_desc &in, int ndims, const zemm_dim_t *dims) {
    if (md_is_zero(in) || ndims == 0)
        fail(zemm_invalid_arguments, "%s: a descriptor without dims", reshape_caller);
    check_shape(reshape_caller, ndims, dims, in.data_type);
    if ((in.format_kind != zemm_blocked && in.format_kind != zemm_format_kind_any) || md_has_runtime(in))
        fail(zemm_invalid_arguments, "%s: a descriptor of format %s with dims %s cannot be reshaped",
             reshape_caller, format_kind_name(in.format_kind), dims_text(in).c_str());
    memory_desc out = in;
    out.ndims = ndims;
    for (zemm_dim_t *array : {out.dims, out.padded_dims, out.padded_offsets, out.strides})
        std::fill_n(array, ZEMM_MAX_NDIMS, 0);
    std::copy_n(dims, ndims, out.dims);
    const zemm_dim_t volume = md_nelems(out);
    if (volume == runtime_dim || volume != md_nelems(in))
        fail(zemm_invalid_arguments, "%s: %s has not as many elements as %s", reshape_caller,
             dims_text(out).c_str(), dims_text(in).c_str());
    if (in.format_kind == zemm_format_kind_any) {
        std::copy_n(dims, ndims, out.padded_dims);
    } else {
        reshaper(in, out).run();
        check_strides(reshape_caller, out); // rows may end inside a byte now
    }
    return out;
}

} // namespace zemm
