// SPDX-License-Identifier: Apache-2.0
// The types that an operand may have, from types.def, as sets of bits. Code that tells types apart by their
// names asserts that it knows them all: a new type does not compile until all such code knows it.
#pragma once

#include "arithmetic/data_type.h"

enum {
#define ZEMM_TYPE(name, NAME, number, bits) BIT_##NAME = 1 << number,
#include "lists/types.def"
};

#define IS_no 0
#define IS_yes 1
#define BIT_IF(NAME, condition) | ((condition) ? BIT_##NAME : 0)
enum {
    INTEGERS_OF_SRC = 0
#define ZEMM_INT_TYPE(name, NAME, number, bits, is_signed, low, high, src, ...) BIT_IF(NAME, IS_##src)
#include "lists/types.def"
    ,
    INTEGERS_OF_WEIGHTS = 0
#define ZEMM_INT_TYPE(name, NAME, number, bits, is_signed, low, high, src, weights, ...)                     \
    BIT_IF(NAME, IS_##weights)
#include "lists/types.def"
    ,
    INTEGER_ZERO_POINTS = 0
#define ZEMM_INT_TYPE(name, NAME, number, bits, is_signed, low, high, src, weights, dst, bias, scale,        \
                      zero_point, ...)                                                                       \
    BIT_IF(NAME, IS_##zero_point)
#include "lists/types.def"
    ,
    SMALL_FLOATS = 0 // of src or weights
#define ZEMM_FLOAT_TYPE(name, NAME, number, bits, digits, smallest, largest, src, weights, ...)              \
    BIT_IF(NAME, bits <= 8 && (IS_##src || IS_##weights))
#include "lists/types.def"
    ,
    FLOATS = 0 // of src or weights, of 16 and 32 bits
#define ZEMM_FLOAT_TYPE(name, NAME, number, bits, digits, smallest, largest, src, weights, ...)              \
    BIT_IF(NAME, bits > 8 && bits <= 32 && (IS_##src || IS_##weights))
#include "lists/types.def"
};

#define KNOWS(types, known)                                                                                  \
    _Static_assert((types) == (known), "types.def has a type of " #types " that this code does not know")
