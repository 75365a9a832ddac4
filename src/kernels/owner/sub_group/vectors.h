// SPDX-License-Identifier: Apache-2.0
// The vectors of the owner sub_group. A vector is eight rows of one column, and the lanes have
// neighbouring columns. So values for columns are scalars, and values for rows are vectors.
#pragma once

#include "arithmetic/data_type.h"

#define NV (TILE_N / LANES) // columns of a lane
#define VEC_ROWS 8
#define COLUMN_STEP LANES
#define TILE_COLUMNS NV

#if ROWS != VEC_ROWS
#error "ROWS: a sub-group multiplies one vector of rows at once"
#endif

typedef int k_index;          // 2-D block loads take coordinates of 32 bits
typedef uint parameter_index; // saves registers

typedef float8 vec_f;
typedef int8 vec_i;
#define to_vec_i(x) convert_int8(x)
#define to_vec_f(x) convert_float8(x)
#define as_vec_i(x) as_int8(x)
#define as_vec_f(x) as_float8(x)

typedef float column_f;
typedef int column_i;
typedef long column_l;
typedef float8 row_f;
typedef int8 row_i;
#define as_column_i(x) as_int(x)
#define as_column_f(x) as_float(x)
#define to_column_i(x) convert_int(x)
#define to_column_f(x) convert_float(x)
#define to_column_l(x) convert_long(x)

#define load_column_f(p, data_type, i) load_float(p, data_type, i)
#define store_column_f(p, data_type, i, x) store_float(p, data_type, i, x)
#define load_column_s32(p) (*(p))
#define store_column_s32(x, p) (*(p) = (x))
