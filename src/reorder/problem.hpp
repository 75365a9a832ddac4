// SPDX-License-Identifier: Apache-2.0
// A reorder in canonical form: validated descriptors and attributes, no trace of a device or a kernel.
#pragma once

#include <string>

#include "common/attr.hpp"
#include "common/memory_desc.hpp"

namespace zemm::reorder {

struct problem {
    memory_desc src, dst;
    zemm_primitive_attr attr;

    bool empty() const { return md_nelems(src) == 0; }
    // Elements are moved as they are: same type, and nothing in the attributes that changes a value.
    bool is_copy() const;
    // The scales of dst are computed: quantisation on the device.
    bool is_dynamic() const;
    const memory_desc &tensor(int arg) const { return arg == ZEMM_ARG_SRC ? src : dst; }

    // The attribute's entry for an argument, or nullptr.
    const quant_entry *scale(int arg) const;
    const quant_entry *zero_point(int arg) const;
    const quant_entry *reductions() const; // of dst
    const post_op *sum() const;
};

// Validates: invalid_arguments for what makes no reorder, unimplemented for what zemm does not have. attr may
// be NULL.
problem make_problem(const memory_desc &src, const memory_desc &dst, const zemm_primitive_attr *attr);

// The stages of make_problem, each in its own file. They throw.
void check_tensors(const problem &p);
void check_attributes(const problem &p);
void check_dynamic(const problem &p);

// Elements along the last dimension that share a value of a group-wise parameter of dst.
zemm_dim_t group_of(const problem &p, const quant_entry &entry);
// The zero points of a dynamically quantised dst have the scales' groups.
quant_entry zero_points_entry(const problem &p);

} // namespace zemm::reorder
