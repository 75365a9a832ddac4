// SPDX-License-Identifier: Apache-2.0
// What kernels/types.def says of a data type.
#pragma once

#include <string>

#include "zemm/zemm_types.h"

namespace zemm {

// Bits of one element: 4, 8, 16, 32 or 64 (0 for undef and what is no type).
int data_type_bits(zemm_data_type_t dt);
bool is_md_data_type(zemm_data_type_t dt); // whether tensors have such elements
bool is_floating(zemm_data_type_t dt);     // without e8m0
bool is_integer(zemm_data_type_t dt);      // s4 u4 s8 u8 s32 s64
bool is_int4(zemm_data_type_t dt);         // s4 u4
bool is_int8(zemm_data_type_t dt);         // s8 u8
bool is_signed(zemm_data_type_t dt);       // s4 s8 s32
bool is_converted(zemm_data_type_t dt);    // kernels load and store it

// The values of an integer type; it is one that kernels convert, else an internal error is thrown.
struct value_range {
    zemm_dim_t low, high;
};
value_range range_of(zemm_data_type_t dt);

// The columns of the list: what a tensor of the type may be.
enum class role { src, weights, dst, bias, scale, zero_point, post_op };
bool suits(zemm_data_type_t dt, role as);

// For messages: the types that suit a role, or of which a predicate says yes, as "f32 f16 bf16".
std::string types_for(role as, const char *separator = " ");
std::string types_where(bool (*condition)(zemm_data_type_t));

} // namespace zemm
