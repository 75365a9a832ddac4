// SPDX-License-Identifier: Apache-2.0
// The types that an operand may have, from types.def, as bits 1 << DT_... Code that tells types apart by
// their names asserts that it knows them all: a new type does not compile until all such code knows it.
#pragma once

#include "data_type.h"

#define IS_no 0
#define IS_yes 1
#define TYPE_IF(number, condition) | ((condition) ? 1 << number : 0)

enum {
    INTEGERS_OF_SRC = 0
#define ZEMM_INT_TYPE(name, NAME, number, bits, is_signed, low, high, src, ...) TYPE_IF(number, IS_##src)
#include "types.def"
    ,
    INTEGERS_OF_WEIGHTS = 0
#define ZEMM_INT_TYPE(name, NAME, number, bits, is_signed, low, high, src, weights, ...)                     \
    TYPE_IF(number, IS_##weights)
#include "types.def"
    ,
    INTEGER_ZERO_POINTS = 0
#define ZEMM_INT_TYPE(name, NAME, number, bits, is_signed, low, high, src, weights, dst, bias, scale,        \
                      zero_point, ...)                                                                       \
    TYPE_IF(number, IS_##zero_point)
#include "types.def"
    ,
    SMALL_FLOATS = 0 // of src or weights
#define ZEMM_FLOAT_TYPE(name, NAME, number, bits, digits, smallest, largest, src, weights, ...)              \
    TYPE_IF(number, bits <= 8 && (IS_##src || IS_##weights))
#include "types.def"
    ,
    FLOATS = 0 // of src or weights, of 16 and 32 bits
#define ZEMM_FLOAT_TYPE(name, NAME, number, bits, digits, smallest, largest, src, weights, ...)              \
    TYPE_IF(number, bits > 8 && bits <= 32 && (IS_##src || IS_##weights))
#include "types.def"
};

#define TYPE_BIT(NAME) (1 << DT_##NAME)
#define KNOWS_ALL(types, known)                                                                              \
    _Static_assert((types) == (known), "types.def has a type of " #types " that this code does not know")
#define KNOWS_SMALL_FLOATS KNOWS_ALL(SMALL_FLOATS, TYPE_BIT(F8_E5M2) | TYPE_BIT(F8_E4M3) | TYPE_BIT(F4_E2M1))
#define KNOWS_FLOATS KNOWS_ALL(FLOATS, TYPE_BIT(F32) | TYPE_BIT(F16) | TYPE_BIT(BF16))
