// SPDX-License-Identifier: Apache-2.0
// The vectors of the owner work_item. A vector is LANES (1, 8 or 16) neighbouring columns of one
// row. So values for columns are vectors, and values for rows are scalars.
#pragma once

#include "arithmetic/data_type.h"

#define NV (TILE_N / LANES) // vectors of a row of the tile
#define VEC_ROWS 1
#define COLUMN_STEP 1
#define TILE_COLUMNS TILE_N

typedef long k_index;
typedef long parameter_index;

#if LANES == 16
typedef float16 vec_f;
typedef int16 vec_i;
typedef long16 column_l;
typedef ushort16 column_us;
#define to_vec_i(x) convert_int16(x)
#define to_vec_f(x) convert_float16(x)
#define halves_to_column_f(p) vload_half16(0, (__private const half *)(p))
#define as_vec_i(x) as_int16(x)
#define as_vec_f(x) as_float16(x)
#define to_column_l(x) convert_long16(x)
#define load_column_f(p, data_type, i) load_float16(p, data_type, i)
#define store_column_f(p, data_type, i, x) store_float16(p, data_type, i, x)
#define load_column_scale(p, data_type, i) load_scale_element16(p, data_type, i)
#define VEC_OF_CODES(name, x) from_##name##16(as_uint16(x))
#define load_column_s32(p) vload16(0, p)
#define store_column_s32(x, p) vstore16(x, 0, p)
#elif LANES == 8
typedef float8 vec_f;
typedef int8 vec_i;
typedef long8 column_l;
typedef ushort8 column_us;
#define to_vec_i(x) convert_int8(x)
#define to_vec_f(x) convert_float8(x)
#define halves_to_column_f(p) vload_half8(0, (__private const half *)(p))
#define as_vec_i(x) as_int8(x)
#define as_vec_f(x) as_float8(x)
#define to_column_l(x) convert_long8(x)
#define load_column_f(p, data_type, i) load_float8(p, data_type, i)
#define store_column_f(p, data_type, i, x) store_float8(p, data_type, i, x)
#define load_column_scale(p, data_type, i) load_scale_element8(p, data_type, i)
#define VEC_OF_CODES(name, x) from_##name##8(as_uint8(x))
#define load_column_s32(p) vload8(0, p)
#define store_column_s32(x, p) vstore8(x, 0, p)
#elif LANES == 1
typedef float vec_f;
typedef int vec_i;
typedef long column_l;
typedef ushort column_us;
#define to_vec_i(x) convert_int(x)
#define to_vec_f(x) convert_float(x)
#define halves_to_column_f(p) vload_half(0, (__private const half *)(p))
#define as_vec_i(x) as_int(x)
#define as_vec_f(x) as_float(x)
#define to_column_l(x) convert_long(x)
#define load_column_f(p, data_type, i) load_float(p, data_type, i)
#define store_column_f(p, data_type, i, x) store_float(p, data_type, i, x)
#define load_column_scale(p, data_type, i) load_scale_element(p, data_type, i)
#define VEC_OF_CODES(name, x) from_##name((uint)(x))
#define load_column_s32(p) (*(p))
#define store_column_s32(x, p) (*(p) = (x))
#else
#error "LANES: 1, 8 or 16"
#endif

typedef vec_f column_f;
typedef vec_i column_i;
typedef float row_f;
typedef int row_i;
#define as_column_i(x) as_vec_i(x)
#define as_column_f(x) as_vec_f(x)
#define to_column_i(x) to_vec_i(x)
#define to_column_f(x) to_vec_f(x)
