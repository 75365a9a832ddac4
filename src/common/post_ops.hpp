// SPDX-License-Identifier: Apache-2.0
// Post-ops: their fields, rules, text and tensors. A kind is a row of lists/algs.def.
#pragma once

#include <string>
#include <vector>

#include "common/memory_desc.hpp"
#include "zemm/zemm_types.h"

namespace zemm {

struct post_op {
    zemm_primitive_kind_t kind = zemm_undefined_primitive;
    zemm_alg_kind_t alg = zemm_alg_kind_undef; // eltwise, binary
    float alpha = 0.f, beta = 0.f;             // eltwise; sum: alpha is the scale
    int32_t zero_point = 0;                    // sum
    zemm_data_type_t data_type = zemm_data_type_undef;
    int mask = 0;                     // prelu
    memory_desc src1 = {}, src2 = {}; // binary; src2 is a zero descriptor unless alg is binary_select
};

} // namespace zemm

struct zemm_post_ops {
    std::vector<zemm::post_op> entries;
};

namespace zemm {

constexpr size_t post_ops_limit = 32;

// Appends an entry. Throws invalid_arguments if it breaks a rule that needs no tensor of the primitive.
void append(zemm_post_ops &list, const post_op &entry);
// The entry at index. Throws invalid_arguments if there is none or if it is of another kind.
const post_op &post_op_at(const zemm_post_ops &list, int index, zemm_primitive_kind_t kind);
// Throws unimplemented if a matmul with this dst does not take the entry. is_integer: its sums are integers.
void check_post_op(const post_op &op, int index, const memory_desc &dst, bool is_integer);
// "binary_add:f32:2", as in the verbose log.
std::string post_op_text(const post_op &p);
// The algorithm that kernels compute: for one whose src1 is dst that of any src1, else alg itself.
zemm_alg_kind_t computed_alg(zemm_alg_kind_t alg);
// Whether src1 of the post-op is dst as it was before the execution.
bool is_in_place(const post_op &op);

// A post-op as kernels see it. A tensor is the argument arg of the post-op; 0: no tensor.
struct post_op_operands {
    int alg; // the number in lists/algs.def
    int src1_arg = 0;
    memory_desc src1 = {}; // sum: data_type only
    int src2_arg = 0;
    memory_desc src2 = {};
};
post_op_operands operands_of(const post_op &op, const memory_desc &dst);

} // namespace zemm
