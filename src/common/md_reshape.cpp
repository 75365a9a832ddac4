// SPDX-License-Identifier: Apache-2.0
// Reshapes a descriptor without moving its elements.
#include <algorithm>

#include "common/error.hpp"
#include "common/md_check.hpp"
#include "common/md_ops.hpp"
#include "common/names.hpp"

namespace zemm {

namespace {

constexpr const char *caller = "zemm_memory_desc_reshape";

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
             caller, d, dims_text(in_).c_str(), tag_text(in_).c_str(), dims_text(out_).c_str());
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
        fail(zemm_invalid_arguments, "%s: a descriptor without dims", caller);
    check_shape(caller, ndims, dims, in.data_type);
    if ((in.format_kind != zemm_blocked && in.format_kind != zemm_format_kind_any) || md_has_runtime(in))
        fail(zemm_invalid_arguments, "%s: a descriptor of format %s with dims %s cannot be reshaped", caller,
             format_kind_name(in.format_kind), dims_text(in).c_str());
    memory_desc out = in;
    out.ndims = ndims;
    for (zemm_dim_t *array : {out.dims, out.padded_dims, out.padded_offsets, out.strides})
        std::fill_n(array, ZEMM_MAX_NDIMS, 0);
    std::copy_n(dims, ndims, out.dims);
    const zemm_dim_t volume = md_nelems(out);
    if (volume == runtime_dim || volume != md_nelems(in))
        fail(zemm_invalid_arguments, "%s: %s has not as many elements as %s", caller, dims_text(out).c_str(),
             dims_text(in).c_str());
    if (in.format_kind == zemm_format_kind_any) {
        std::copy_n(dims, ndims, out.padded_dims);
    } else {
        reshaper(in, out).run();
        check_strides(caller, out); // rows of 4-bit elements may have an odd length now
    }
    return out;
}

} // namespace zemm
