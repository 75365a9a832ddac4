// SPDX-License-Identifier: Apache-2.0
// An inner product, dst[n, oc] = sum of src[n, ...] * weights[oc, ...], and how its tensors become those of a
// matmul. It knows no device.
#pragma once

#include <vector>

#include "common/attr.hpp"
#include "common/memory_desc.hpp"
#include "inner_product/flat.hpp"

namespace zemm::inner_product {

struct problem {
    zemm_prop_kind_t prop_kind;
    memory_desc src, wei, bias, dst; // wei may have format any, others are resolved
    struct {
        bool src, wei, bias, dst; // the caller passed format any
    } was_any = {};
    // The orders in which src and weights may be read: one, or several beside weights of format any, which
    // prefer the first in which they can have the layout that the matmul wants. The tensors that were any
    // have the first one.
    std::vector<dim_order> orders = {};
};

// Validates as oneDNN does. Throws invalid_arguments if the descriptors make no inner product, and
// unimplemented if zemm does not have it. bias and attr may be NULL.
problem make_problem(zemm_prop_kind_t prop_kind, const memory_desc &src, const memory_desc &wei,
                     const memory_desc *bias, const memory_desc &dst, const zemm_primitive_attr *attr);

// A tensor as a matrix. The copy, a dense tensor, is the matrix where the tensor does not lie as one.
struct matrix {
    memory_desc flat;
    memory_desc copy; // a zero descriptor if there is none
};
matrix matrix_of(const memory_desc &md, const dim_order &order);

// Weights of an inner product as those of the matmul, and the other way round.
memory_desc transposed(const memory_desc &matrix);
// The attributes with the masks of an inner product's weights as those of a matmul's, and the other way
// round.
zemm_primitive_attr with_transposed_masks(zemm_primitive_attr attr);

} // namespace zemm::inner_product
