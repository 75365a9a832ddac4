// SPDX-License-Identifier: Apache-2.0
// Reshapes a descriptor without moving its elements.
#include <algorithm>

#include "common/error.hpp"
#include "common/layout.hpp"
#include "common/md_check.hpp"
#include "common/md_ops.hpp"
#include "common/names.hpp"

namespace zemm {

namespace {

constexpr const char *caller = "zemm_memory_desc_reshape";

// Walks both shapes from the outermost dimension inwards. Each step takes from both shapes the
// shortest runs of dimensions that have the same number of elements.
class reshaper {
public:
    reshaper(const memory_desc &in, memory_desc &out) : in_(in), out_(out), blocks_(md_blocks(in)) {
        std::fill_n(moved_, ZEMM_MAX_NDIMS, -1);
    }

    void run() {
        int i = 0, j = 0;
        while (i < in_.ndims || j < out_.ndims) {
            const bool left = i < in_.ndims, right = j < out_.ndims;
            if (left && right && in_.dims[i] == out_.dims[j]) {
                keep(i++, j++);
            } else if (left && in_.dims[i] == 1) {
                if (in_.padded_dims[i] != 1)
                    refuse(i);
                i++;
            } else if (right && out_.dims[j] == 1) {
                inserted_[j++] = true;
            } else {
                regroup(i, j);
            }
        }
        fill_inserted();
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

    void keep(int i, int j) {
        out_.padded_dims[j] = in_.padded_dims[i];
        out_.strides[j] = in_.strides[i];
        moved_[i] = j;
    }

    // Regroups the elements of in_.dims[i..] into out_.dims[j..], with as few dimensions as
    // possible. Moves i and j behind these dimensions.
    void regroup(int &i, int &j) {
        const int first_i = i, first_j = j;
        zemm_dim_t a = in_.dims[i++], b = out_.dims[j++];
        while (a != b) {
            if (a < b)
                a *= in_.dims[i++];
            else
                b *= out_.dims[j++];
        }
        zemm_dim_t stride = 0, expected = 0;
        for (int d = i - 1; d >= first_i; d--) {
            if (blocks_.of[d] != 1)
                refuse(d);
            if (in_.dims[d] == 1)
                continue;
            if (expected == 0)
                stride = expected = in_.strides[d];
            else if (in_.strides[d] != expected)
                refuse(d);
            expected *= in_.dims[d];
        }
        for (int d = j - 1; d >= first_j; d--) {
            out_.padded_dims[d] = out_.dims[d];
            out_.strides[d] = stride;
            stride *= out_.dims[d];
        }
    }

    // Gives each inserted dimension of 1 the stride that it would have in a dense tensor: the span
    // of the dimensions inside it.
    void fill_inserted() {
        zemm_dim_t stride = blocks_.total;
        for (int d = out_.ndims - 1; d >= 0; d--) {
            if (inserted_[d]) {
                out_.padded_dims[d] = 1;
                out_.strides[d] = stride;
            } else {
                const int i = int(std::find(moved_, moved_ + in_.ndims, d) - moved_);
                const zemm_dim_t block = i < in_.ndims ? blocks_.of[i] : 1;
                stride = out_.strides[d] * ((out_.padded_dims[d] + block - 1) / block);
            }
        }
    }

    const memory_desc &in_;
    memory_desc &out_;
    const blocks blocks_;
    int moved_[ZEMM_MAX_NDIMS]; // by dimension of in_: its index in out_, -1 if it is not kept
    bool inserted_[ZEMM_MAX_NDIMS] = {};
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
    } else if (volume == 0) {
        // An empty tensor has no elements to move, so any layout is right.
        if (in.inner_nblks)
            fail(zemm_invalid_arguments, "%s: an empty blocked tensor", caller);
        layout l;
        l.ndims = ndims;
        for (int d = 0; d < ndims; d++)
            l.order[d] = d;
        apply_layout(caller, out, l);
    } else {
        reshaper(in, out).run();
        check_strides(caller, out); // rows of 4-bit elements may have an odd length now
    }
    return out;
}

} // namespace zemm
