// SPDX-License-Identifier: Apache-2.0
// A vector of LANES (1, 8 or 16) columns: the types and the few operations that the loop nest needs of it.
#pragma once

#include "data_type.h"

#define NV (TILE_N / LANES) // vectors of a row of the tile

#if LANES == 16
typedef float16 vec_f;
typedef int16 vec_i;
#define to_vec_i(x) convert_int16(x)
#define to_vec_f(x) convert_float16(x)
#define as_vec_i(x) as_int16(x)
#define as_vec_f(x) as_float16(x)
#define load_vec_f(p, data_type, i) load_float16(p, data_type, i)
#define store_vec_f(p, data_type, i, x) store_float16(p, data_type, i, x)
#define load_vec_s32(p) vload16(0, p)
#define store_vec_s32(x, p) vstore16(x, 0, p)
#elif LANES == 8
typedef float8 vec_f;
typedef int8 vec_i;
#define to_vec_i(x) convert_int8(x)
#define to_vec_f(x) convert_float8(x)
#define as_vec_i(x) as_int8(x)
#define as_vec_f(x) as_float8(x)
#define load_vec_f(p, data_type, i) load_float8(p, data_type, i)
#define store_vec_f(p, data_type, i, x) store_float8(p, data_type, i, x)
#define load_vec_s32(p) vload8(0, p)
#define store_vec_s32(x, p) vstore8(x, 0, p)
#else
typedef float vec_f;
typedef int vec_i;
#define to_vec_i(x) convert_int(x)
#define to_vec_f(x) convert_float(x)
#define as_vec_i(x) as_int(x)
#define as_vec_f(x) as_float(x)
#define load_vec_f(p, data_type, i) load_float(p, data_type, i)
#define store_vec_f(p, data_type, i, x) store_float(p, data_type, i, x)
#define load_vec_s32(p) (*(p))
#define store_vec_s32(x, p) (*(p) = (x))
#endif

// LANES neighbours of an integer tensor; 4-bit types: i is even.
static inline vec_i load_vec_i(bytes p, int data_type, long i) {
    if (data_type == DT_S32)
        return load_vec_s32((global const int *)p + i);
    return to_vec_i(load_vec_f(p, data_type, i));
}
