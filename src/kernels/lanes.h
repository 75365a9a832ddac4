// SPDX-License-Identifier: Apache-2.0
// The vectors of the loop nest, and the few operations that it needs of them.
//
// WORK_ITEMS == 1: a work-item owns the tile, a vector is LANES (1, 8 or 16) columns of one row.
// WORK_ITEMS > 1: a sub-group of LANES work-items owns the tile and each has one of LANES neighbouring
// columns; a vector is that column of VEC_ROWS rows, and what belongs to columns is a scalar.
#pragma once

#include "data_type.h"

#define NV (TILE_N / LANES) // vectors of a row of the tile

#if WORK_ITEMS > 1
#define VEC_ROWS 8
#define COLUMN_STEP LANES // from one column of a work-item to the next
#else
#define VEC_ROWS 1
#define COLUMN_STEP 1
#endif
#define TILE_COLUMNS (TILE_N / WORK_ITEMS) // of one work-item

#if WORK_ITEMS == 1 && LANES == 16
typedef float16 vec_f;
typedef int16 vec_i;
#define to_vec_i(x) convert_int16(x)
#define to_vec_f(x) convert_float16(x)
#define as_vec_i(x) as_int16(x)
#define as_vec_f(x) as_float16(x)
#elif WORK_ITEMS > 1 || LANES == 8
typedef float8 vec_f;
typedef int8 vec_i;
#define to_vec_i(x) convert_int8(x)
#define to_vec_f(x) convert_float8(x)
#define as_vec_i(x) as_int8(x)
#define as_vec_f(x) as_float8(x)
#else
typedef float vec_f;
typedef int vec_i;
#define to_vec_i(x) convert_int(x)
#define to_vec_f(x) convert_float(x)
#define as_vec_i(x) as_int(x)
#define as_vec_f(x) as_float(x)
#endif

// Counts along K: 2-D block loads have 32 bits, and so have the loops around them.
#if WORK_ITEMS > 1
typedef int k_index;
#else
typedef long k_index;
#endif

// Elements from where a tensor of scales, zero points or sums begins: sub-groups count them in 32 bits.
#if WORK_ITEMS > 1
typedef uint parameter_index;
#else
typedef long parameter_index;
#endif

// What one vector's columns have in common for all rows, and its rows for all columns.
#if WORK_ITEMS > 1
typedef float column_f;
typedef int column_i;
typedef float8 row_f;
typedef int8 row_i;
#define as_column_i(x) as_int(x)
#define as_column_f(x) as_float(x)
#define to_column_i(x) convert_int(x)
#define to_column_f(x) convert_float(x)
#else
typedef vec_f column_f;
typedef vec_i column_i;
typedef float row_f;
typedef int row_i;
#define as_column_i(x) as_vec_i(x)
#define as_column_f(x) as_vec_f(x)
#define to_column_i(x) to_vec_i(x)
#define to_column_f(x) to_vec_f(x)
#endif

// Wider than an s32.
#if WORK_ITEMS == 1 && LANES == 16
typedef long16 column_l;
#define to_column_l(x) convert_long16(x)
#elif WORK_ITEMS == 1 && LANES == 8
typedef long8 column_l;
#define to_column_l(x) convert_long8(x)
#else
typedef long column_l;
#define to_column_l(x) convert_long(x)
#endif

// The columns of a vector, from element i on.
#if WORK_ITEMS == 1 && LANES == 16
#define load_column_f(p, data_type, i) load_float16(p, data_type, i)
#define store_column_f(p, data_type, i, x) store_float16(p, data_type, i, x)
#define load_column_s32(p) vload16(0, p)
#define store_column_s32(x, p) vstore16(x, 0, p)
#elif WORK_ITEMS == 1 && LANES == 8
#define load_column_f(p, data_type, i) load_float8(p, data_type, i)
#define store_column_f(p, data_type, i, x) store_float8(p, data_type, i, x)
#define load_column_s32(p) vload8(0, p)
#define store_column_s32(x, p) vstore8(x, 0, p)
#else
#define load_column_f(p, data_type, i) load_float(p, data_type, i)
#define store_column_f(p, data_type, i, x) store_float(p, data_type, i, x)
#define load_column_s32(p) (*(p))
#define store_column_s32(x, p) (*(p) = (x))
#endif

// Those of an integer tensor; 4-bit types: i is even.
static inline column_i load_column_i(bytes p, int data_type, long i) {
    if (data_type == DT_S32)
        return load_column_s32((global const int *)p + i);
    return to_column_i(load_column_f(p, data_type, i));
}
