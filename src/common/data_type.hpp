// SPDX-License-Identifier: Apache-2.0
// Facts about data types, from lists/types.def.
#pragma once

#include <string>

#include "zemm/zemm_types.h"

namespace zemm {

// Bits of one element: 2, 4, 8, 16, 32 or 64; 0 for undef and for values that are not in the list.
int data_type_bits(zemm_data_type_t dt);
int elements_per_byte(zemm_data_type_t dt); // 1 for types of 8 bits and more
bool is_md_data_type(zemm_data_type_t dt);  // a memory descriptor may have it
bool is_floating(zemm_data_type_t dt);      // without e8m0
bool is_integer(zemm_data_type_t dt);       // u2 s4 u4 s8 u8 s32 s64
bool is_int8(zemm_data_type_t dt);          // s8 u8
bool is_small_int(zemm_data_type_t dt);     // u2 s4 u4
bool is_narrow_int(zemm_data_type_t dt);    // u2 s4 u4 s8 u8
bool is_signed(zemm_data_type_t dt);        // s4 s8 s32; not s64, which kernels do not convert
bool is_converted(zemm_data_type_t dt);     // reorders convert it
bool is_small_float(zemm_data_type_t dt);   // f8, f4 and e8m0

// The smallest and the largest value of an integer type. Throws runtime_error for a type that is no
// integer or that kernels do not convert (s64).
struct value_range {
    zemm_dim_t low, high;
};
value_range range_of(zemm_data_type_t dt);

// The range and precision of a type, within those of f32. Throws runtime_error for a type that kernels do not
// convert.
struct float_facts {
    int digits; // of the significand, with the leading one; of an integer's magnitude
    float largest, smallest_normal;
};
float_facts float_facts_of(zemm_data_type_t dt);

// The operands that may have a type: the columns of the list.
enum class role { src, weights, dst, bias, scale, zero_point, post_op };
bool suits(zemm_data_type_t dt, role as);

// Names of types for messages, as "f32 f16 bf16": those that suit a role, or those that fulfil the
// condition.
std::string types_for(role as, const char *separator = " ");
std::string types_where(bool (*condition)(zemm_data_type_t));

} // namespace zemm
