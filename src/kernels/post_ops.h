// SPDX-License-Identifier: Apache-2.0
// Post-ops on one row of results in f32. Formulas: oneDNN's post-op table (forward eltwise, binary, sum,
// prelu).
#pragma once

#include OWNER

#include "data_type.h"
#include "tensor.h"

// zemm_alg_kind_t; checked against the public header by the host.
#include "alg_kind.h"

// log1p(exp(x)) without overflow: past 88.72283, exp(x) is not finite and the result is x.
static inline float soft_relu(float x) {
    return x < 88.72283f ? log1p(exp(x)) : x;
}
static inline float logistic(float x) {
    return -x < 88.72283f ? 1.f / (1.f + exp(-x)) : 0.f;
}

// A NaN stays one.
static inline float clamp_to_1(float x) {
    return x <= 0.f ? 0.f : x >= 1.f ? 1.f : x;
}

static inline float eltwise(int alg, float x, float alpha, float beta) {
    switch (alg) {
    case ALG_RELU:
    case ALG_RELU_DST:
        return x > 0.f ? x : alpha * x;
    case ALG_TANH:
    case ALG_TANH_DST:
        return tanh(x);
    case ALG_ELU:
    case ALG_ELU_DST:
        return x > 0.f ? x : alpha * expm1(x);
    case ALG_SQUARE:
        return x * x;
    case ALG_ABS:
        return fabs(x);
    case ALG_SQRT:
    case ALG_SQRT_DST:
        return sqrt(x);
    case ALG_LINEAR:
        return alpha * x + beta;
    case ALG_SOFT_RELU:
        return soft_relu(alpha * x) / alpha;
    case ALG_HARDSIGMOID:
        return clamp_to_1(alpha * x + beta);
    case ALG_LOGISTIC:
    case ALG_LOGISTIC_DST:
        return logistic(x);
    case ALG_EXP:
    case ALG_EXP_DST:
        return exp(x);
    case ALG_GELU_TANH:
        return 0.5f * x * (1.f + tanh(0.79788458f * x * (1.f + 0.044715f * x * x)));
    case ALG_SWISH:
        return x * logistic(alpha * x);
    case ALG_LOG:
        return log(x);
    case ALG_CLIP:
    case ALG_CLIP_V2:
    case ALG_CLIP_V2_DST:
        return fmin(fmax(x, alpha), beta); // a NaN becomes alpha
    case ALG_POW:
        return alpha * pow(x, beta);
    case ALG_GELU_ERF:
        return 0.5f * x * (1.f + erf(0.70710677f * x));
    case ALG_ROUND:
        return rint(x);
    case ALG_MISH:
        return x * tanh(soft_relu(x));
    default:
        return x * clamp_to_1(alpha * x + beta); // ALG_HARDSWISH
    }
}

static inline float binary(int alg, float x, float s) {
    switch (alg) {
    case ALG_ADD:
        return x + s;
    case ALG_MUL:
        return x * s;
    case ALG_MAX:
        return x > s ? x : s; // s where either is a NaN
    case ALG_MIN:
        return x < s ? x : s;
    case ALG_DIV:
        return x / s;
    case ALG_SUB:
        return x - s;
    case ALG_GE:
        return x >= s;
    case ALG_GT:
        return x > s;
    case ALG_LE:
        return x <= s;
    case ALG_LT:
        return x < s;
    case ALG_EQ:
        return x == s;
    default:
        return x != s; // ALG_NE
    }
}

// x[0, width): the results of row r, of every COLUMN_STEP-th column from first on; dst: still the old
// contents (for sum).
static void apply_post_ops(global const struct matmul_problem *p, const struct matmul_arguments *args,
                           bytes dst, const struct row_index *r, long first, int width, private float *x) {
    for (int i = 0; i < p->post_ops_len; ++i) {
        global const struct post_op_arg *op = &p->post_ops[i];
        const int alg = op->alg;
        if (alg == POST_OP_SUM) {
            const long row = row_offset(p, &p->dst, r);
            for (int j = 0; j < width; ++j) {
                const float old = load_float(dst, op->src1.data_type,
                                             row + column_offset(&p->dst, first + j * COLUMN_STEP));
                x[j] += op->alpha * (old - (float)op->zero_point);
            }
        } else if (alg == POST_OP_PRELU || alg >= ALG_ADD) {
            bytes src1 = (bytes)args->post_op_src1[i];
            bytes src2 = (bytes)args->post_op_src2[i];
            const long row1 = row_offset(p, &op->src1, r);
            const long row2 = row_offset(p, &op->src2, r);
            for (int j = 0; j < width; ++j) {
                const float s = load_float(src1, op->src1.data_type,
                                           row1 + column_offset(&op->src1, first + j * COLUMN_STEP));
                if (alg == POST_OP_PRELU)
                    x[j] = x[j] >= 0.f ? x[j] : x[j] * s;
                else if (alg == ALG_SELECT)
                    x[j] = load_int(src2, op->src2.data_type,
                                    row2 + column_offset(&op->src2, first + j * COLUMN_STEP))
                               ? x[j]
                               : s;
                else
                    x[j] = binary(alg, x[j], s);
            }
        } else {
            for (int j = 0; j < width; ++j)
                x[j] = eltwise(alg, x[j], op->alpha, op->beta);
        }
    }
}
