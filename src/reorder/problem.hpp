// SPDX-License-Identifier: Apache-2.0
// The problem of a reorder: checked descriptors and attributes. It does not depend on a device or a
// kernel.
#pragma once

#include <string>

#include "common/attr.hpp"
#include "common/memory_desc.hpp"

namespace zemm::reorder {

struct problem {
    memory_desc src, dst;
    zemm_primitive_attr attr;

    bool empty() const { return md_nelems(src) == 0; }
    bool has_runtime() const; // dimensions or strides that are known at execution only
    // Whether elements are copied unchanged: one data type, and no attribute that changes values.
    bool is_copy() const;
    // Whether the scales of dst are outputs (dynamic quantisation).
    bool is_dynamic() const;
    bool rounds_at_random() const { return attr.rounding.contains(ZEMM_ARG_DST); } // other modes are not kept
    bool has_reduced_dst() const { return attr.reduced_range.contains(ZEMM_ARG_DST); } // values of 7 bits
    const memory_desc &tensor(int arg) const { return arg == ZEMM_ARG_SRC ? src : dst; }

    // The entry of the attribute for an argument; nullptr if there is none.
    const quant_entry *scale(int arg) const;
    const quant_entry *zero_point(int arg) const;
    const quant_entry *reductions() const; // of dst
    const post_op *sum() const;            // the first post-op; nullptr if there is none
};

// Makes a problem and checks it: throws invalid_arguments if the arguments make no reorder,
// unimplemented if zemm does not have this one. attr may be NULL.
problem make_problem(const memory_desc &src, const memory_desc &dst, const zemm_primitive_attr *attr);

// The checks of make_problem(), which throw. check_dynamic() is for dynamic quantisation only.
void check_tensors(const problem &p);
void check_attributes(const problem &p);
void check_dynamic(const problem &p);

// The dimension of dst along which the groups of dynamic scales of floats lie: one of the last two.
int group_dim(const problem &p);
// The number of elements along the last dimension of dst that share a value of the entry.
zemm_dim_t group_of(const problem &p, const quant_entry &entry);
// The entry of dst's zero points in dynamic quantisation: s32, with the mask and the groups of the
// scales.
quant_entry zero_points_entry(const problem &p);

} // namespace zemm::reorder
