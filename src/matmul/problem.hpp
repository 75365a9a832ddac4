// SPDX-License-Identifier: Apache-2.0
// A matmul problem in canonical form: validated descriptors and attributes, no trace of a device or a kernel.
#pragma once

#include <string>

#include "common/attr.hpp"
#include "common/memory_desc.hpp"

namespace zemm::matmul {

struct problem {
    // Layouts are resolved but for weights of format any, of which each kernel has its own (layouts.hpp).
    // bias is a zero descriptor when there is none.
    memory_desc src, wei, bias, dst;
    struct {
        bool src, wei, bias, dst; // the caller left the layout open (format any); for the log
    } was_any = {};
    zemm_primitive_attr attr;

    int ndims() const { return dst.ndims; }
    zemm_dim_t m() const { return dst.dims[ndims() - 2]; }
    zemm_dim_t n() const { return dst.dims[ndims() - 1]; }
    zemm_dim_t k() const { return src.dims[ndims() - 1]; }
    zemm_dim_t batch() const; // number of M x N matrices in dst
    bool has_bias() const { return bias.ndims != 0; }
    bool empty() const; // some tensor has no elements: nothing is computed
    bool integer() const { return is_int8(src.data_type); } // s32 accumulation
    bool shares_weights() const;                            // one matrix of weights for the whole batch
    bool weight_only() const { return !integer() && is_integer(wei.data_type); }
    const memory_desc &tensor(int arg) const; // SRC, WEIGHTS, DST or BIAS

    // The attribute's entry for an argument, or nullptr.
    const quant_entry *scale(int arg) const;
    const quant_entry *zero_point(int arg) const;
    const quant_entry *reduction() const; // of src
};

// Validates as oneDNN does: invalid_arguments for what makes no matmul, unimplemented for what it does not
// define or zemm does not have yet. bias and attr may be NULL.
problem make_problem(const memory_desc &src, const memory_desc &wei, const memory_desc *bias,
                     const memory_desc &dst, const zemm_primitive_attr *attr);

// The stages of make_problem, each in its own file. They throw.
void check_shapes(const problem &p);
void check_attributes(const problem &p);
void check_support(const problem &p);

// Bits of masks: the last two dimensions of a tensor with ndims dimensions.
inline int row_bit(int ndims) {
    return 1 << (ndims - 2);
}
inline int column_bit(int ndims) {
    return 1 << (ndims - 1);
}
inline int full_mask(int ndims) {
    return (1 << ndims) - 1;
}

// Descriptor of the slopes that a prelu post-op takes: dst's dimensions where the mask has a bit, layout axb,
// f32.
memory_desc prelu_md(const memory_desc &dst, int mask);

// K elements that share one value of the entry: its group where the mask has the K bit, else all of K.
// k_is_row: K is the tensor's last but one dimension (weights).
zemm_dim_t k_group(const problem &p, const quant_entry &entry, bool k_is_row);
// Whether an entry is there and has more than one group along K.
bool changes_along_k(const problem &p, const quant_entry *entry, bool k_is_row);

// Dimensions as the driver writes them, "2x3:3x4": for messages and the log.
std::string dims_line(const problem &p);

} // namespace zemm::matmul
