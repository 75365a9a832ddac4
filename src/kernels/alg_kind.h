// SPDX-License-Identifier: Apache-2.0
// The algorithms of post-ops by the numbers of zemm_alg_kind_t, which the kernels cannot include.
#pragma once

#ifdef __OPENCL_C_VERSION__
#define ALG_ENUM enum
#else
#define ALG_ENUM enum alg_kind_code
#endif
ALG_ENUM{ALG_RELU = 0x20,        ALG_TANH = 0x21,          ALG_ELU = 0x22,       ALG_SQUARE = 0x23,
         ALG_ABS = 0x24,         ALG_SQRT = 0x25,          ALG_LINEAR = 0x26,    ALG_SOFT_RELU = 0x27,
         ALG_HARDSIGMOID = 0x28, ALG_LOGISTIC = 0x29,      ALG_EXP = 0x2a,       ALG_GELU_TANH = 0x2b,
         ALG_SWISH = 0x2c,       ALG_LOG = 0x2d,           ALG_CLIP = 0x2e,      ALG_CLIP_V2 = 0x2f,
         ALG_POW = 0x30,         ALG_GELU_ERF = 0x31,      ALG_ROUND = 0x32,     ALG_MISH = 0x33,
         ALG_HARDSWISH = 0x34,   ALG_RELU_DST = 0x100,     ALG_TANH_DST = 0x101, ALG_ELU_DST = 0x102,
         ALG_SQRT_DST = 0x103,   ALG_LOGISTIC_DST = 0x104, ALG_EXP_DST = 0x105,  ALG_CLIP_V2_DST = 0x106,
         ALG_ADD = 0x1fff0,      ALG_MUL = 0x1fff1,        ALG_MAX = 0x1fff2,    ALG_MIN = 0x1fff3,
         ALG_DIV = 0x1fff4,      ALG_SUB = 0x1fff5,        ALG_GE = 0x1fff6,     ALG_GT = 0x1fff7,
         ALG_LE = 0x1fff8,       ALG_LT = 0x1fff9,         ALG_EQ = 0x1fffa,     ALG_NE = 0x1fffb,
         ALG_SELECT = 0x1fffc};
