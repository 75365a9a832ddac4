// SPDX-License-Identifier: Apache-2.0
// Post-ops on a row of f32 results: sum, prelu and the algorithms of algs.def. The host accepts no
// other number.
#pragma once

#include OWNER

#include "data_type.h"
#include "tensor.h"

// log1p(exp(x)) without overflow: past 88.72283, exp(x) is not finite and the result is x.
static inline float soft_relu(float x) {
    return x < 88.72283f ? log1p(exp(x)) : x;
}
static inline float logistic(float x) {
    return -x < 88.72283f ? 1.f / (1.f + exp(-x)) : 0.f;
}

// Clamps to [0, 1]. A NaN stays a NaN.
static inline float clamp_to_1(float x) {
    return x <= 0.f ? 0.f : x >= 1.f ? 1.f : x;
}

static inline float eltwise(int alg, float x, float alpha, float beta) {
    switch (alg) {
#define ZEMM_ELTWISE(name, number, formula)                                                                  \
    case number:                                                                                             \
        return formula;
#define ZEMM_ELTWISE_SAME(name, number) case number:
#include "algs.def"
    }
    return x;
}

// In binary() and ternary(), alg is one for which is_binary() or is_ternary() is true.
static inline float binary(int alg, float x, float s) {
    switch (alg) {
#define ZEMM_BINARY(name, number, formula)                                                                   \
    case number:                                                                                             \
        return formula;
#include "algs.def"
    }
    __builtin_unreachable();
}

// c: the element of the condition tensor.
static inline float ternary(int alg, float x, float s, int c) {
    switch (alg) {
#define ZEMM_TERNARY(name, number, formula)                                                                  \
    case number:                                                                                             \
        return formula;
#include "algs.def"
    }
    __builtin_unreachable();
}

static inline bool is_ternary(int alg) {
    switch (alg) {
#define ZEMM_TERNARY(name, number, formula) case number:
#include "algs.def"
        return true;
    }
    return false;
}

static inline bool is_binary(int alg) {
    switch (alg) {
#define ZEMM_BINARY(name, number, formula) case number:
#include "algs.def"
        return true;
    }
    return is_ternary(alg);
}

// Applies all post-ops to x[width], the results of row r: column `first` and every COLUMN_STEP-th
// after it. dst still has its old contents, which the sum post-op reads.
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
        } else if (alg == POST_OP_PRELU || is_binary(alg)) {
            bytes src1 = (bytes)args->post_op_src1[i];
            bytes src2 = (bytes)args->post_op_src2[i];
            const long row1 = row_offset(p, &op->src1, r);
            const long row2 = row_offset(p, &op->src2, r);
            for (int j = 0; j < width; ++j) {
                const float s = load_float(src1, op->src1.data_type,
                                           row1 + column_offset(&op->src1, first + j * COLUMN_STEP));
                if (alg == POST_OP_PRELU)
                    x[j] = x[j] >= 0.f ? x[j] : x[j] * s;
                else if (is_ternary(alg))
                    x[j] = ternary(alg, x[j], s,
                                   load_int(src2, op->src2.data_type,
                                            row2 + column_offset(&op->src2, first + j * COLUMN_STEP)));
                else
                    x[j] = binary(alg, x[j], s);
            }
        } else {
            for (int j = 0; j < width; ++j)
                x[j] = eltwise(alg, x[j], op->alpha, op->beta);
        }
    }
}
