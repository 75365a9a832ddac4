// SPDX-License-Identifier: Apache-2.0
// A matmul problem in canonical form: validated descriptors and attributes. It knows no device and
// no kernel.
#pragma once

#include <initializer_list>
#include <string>

#include "common/attr.hpp"
#include "common/memory_desc.hpp"

namespace zemm::matmul {

// How a grouped matmul is divided (grouped.hpp). As a problem, it is a batch with a matrix for each group.
enum class grouping { none, rows, k };

struct problem {
    // Format any is resolved to a layout, except in wei: each kernel has the layout that it wants
    // (layouts.hpp). bias is a zero descriptor if there is none.
    memory_desc src, wei, bias, dst;
    struct {
        bool src, wei, bias, dst; // the caller passed format any; for the log
    } was_any = {};
    zemm_primitive_attr attr;
    // The type of src before steps quantised it, if a kernel may do that in their place.
    zemm_data_type_t quantized_from = zemm_data_type_undef;
    grouping grouped = grouping::none;
    // For groups of rows, whose sizes are known at execution only: rows of the largest group, and the number
    // of groups that have rows, in executions that the implementation is chosen for.
    zemm_dim_t likely_rows = 0, likely_groups = 0;

    int ndims() const { return dst.ndims; }
    zemm_dim_t m() const { return dst.dims[ndims() - 2]; }
    zemm_dim_t n() const { return dst.dims[ndims() - 1]; }
    zemm_dim_t k() const { return src.dims[ndims() - 1]; }
    zemm_dim_t batch() const; // number of M x N matrices in dst
    bool has_bias() const { return bias.ndims != 0; }
    bool empty() const;                                                                // nothing is computed
    bool integer() const { return is_int8(src.data_type); }                            // sums are s32
    bool has_reduced_src() const { return attr.reduced_range.contains(ZEMM_ARG_SRC); } // values of 7 bits
    bool quantizes_src() const { return attr.src_dyn_quant_params != 0; } // to s8 (quantized_src.hpp)
    // Float src with integer weights (weight-only quantisation).
    bool weight_only() const { return !integer() && is_integer(wei.data_type); }
    bool has_offsets() const { return !attr.offsets.empty(); } // the weights have offsets
    bool has_float_zero_points() const;       // zero points of the weights are floats, or they have offsets
    const memory_desc &tensor(int arg) const; // arg: ZEMM_ARG_SRC, _WEIGHTS, _DST or _BIAS

    // The entry of the attributes for an argument; nullptr if there is none.
    const quant_entry *scale(int arg) const;
    // Of the weights the offsets, if there are some: kernels read them in the place of zero points.
    const quant_entry *zero_point(int arg) const;
    // Factors of the weights' scales and offsets.
    const quant_entry *scale_factor() const, *offset_factor() const;
    const quant_entry *reduction() const; // of src
};

// The caller's tensors and attributes, not checked. bias and attr may be NULL.
problem unchecked_problem(const memory_desc &src, const memory_desc &wei, const memory_desc *bias,
                          const memory_desc &dst, const zemm_primitive_attr *attr);

// Validates as oneDNN does. Throws invalid_arguments if the descriptors do not make a matmul, and
// unimplemented if oneDNN does not define the problem or zemm does not have it yet. bias and attr
// may be NULL.
problem make_problem(const memory_desc &src, const memory_desc &wei, const memory_desc *bias,
                     const memory_desc &dst, const zemm_primitive_attr *attr);

// The accumulation type for the tensors' types; undef if no matmul has this combination.
zemm_data_type_t accumulation_type(const problem &p);

// The stages of make_problem (check_tensors.cpp, check_attributes.cpp). They throw.
void check_shapes(const problem &p);
// Refuses a post-op in place whose src1 is not dst's descriptor. index: of the post-op.
void check_in_place(const post_op &op, const memory_desc &dst, int index);
void check_attributes(const problem &p);
void check_support(const problem &p);
// Throws unimplemented if a matmul does not take the problem's sparse tensors: src or weights in CSR or COO,
// and packed weights.
void check_sparse(const problem &p);

// Bits of a mask: the last two dimensions, and all dimensions, of a tensor.
inline int row_bit(int ndims) {
    return 1 << (ndims - 2);
}
inline int column_bit(int ndims) {
    return 1 << (ndims - 1);
}
inline int full_mask(int ndims) {
    return (1 << ndims) - 1;
}

// Resolves format any of a post-op's tensor to the order of dst's dimensions, so that kernels read both
// along the same dimension.
void resolve_like(memory_desc &md, const memory_desc &dst);

// Elements of K that share one value of the entry: its group if the mask has the K bit, else all of
// K. k_is_row: K is the last dimension but one of the tensor (weights).
zemm_dim_t k_group(const problem &p, const quant_entry &entry, bool k_is_row);

// Elements of K within which no parameter changes whose groups along K these are: their greatest common
// divisor. A group of 0 or of all of K counts for none.
zemm_dim_t shared_k_group(const problem &p, std::initializer_list<zemm_dim_t> groups);

// Rounds up to a multiple of the unit.
constexpr zemm_dim_t up(zemm_dim_t value, zemm_dim_t unit) {
    return (value + unit - 1) / unit * unit;
}

// Dimensions as the benchmark driver writes them, "2x3:3x4"; for messages and the log.
std::string dims_line(const problem &p);

} // namespace zemm::matmul
