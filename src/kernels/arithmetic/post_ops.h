// SPDX-License-Identifier: Apache-2.0
// The algorithms of post-ops, from algs.def. The host accepts no other number.
#pragma once

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

// The kinds of post-ops that are no algorithms.
enum post_op_kind {
#define ZEMM_KIND(name, number) POST_OP_##name = number,
#include "lists/algs.def"
};

// Their formulas. A macro leaves SPIR-V without a call. SUM_TERM: what a sum adds; old: the old element of
// dst. FORMULA_<name>: of a ZEMM_TENSOR_KIND.
#define SUM_TERM(op, old) ((op)->alpha * ((old) - (float)(op)->zero_point))
#define FORMULA_prelu(op, x, s) ((x) >= 0.f ? (x) : (x) * (s))

static inline float eltwise(int alg, float x, float alpha, float beta) {
    switch (alg) {
#define ZEMM_ELTWISE(name, number, formula)                                                                  \
    case number:                                                                                             \
        return formula;
#define ZEMM_ELTWISE_SAME(name, number) case number:
#include "lists/algs.def"
    }
    return x;
}

// In binary() and ternary(), alg is one for which is_binary() or is_ternary() is true.
static inline float binary(int alg, float x, float s) {
    switch (alg) {
#define ZEMM_BINARY(name, number, formula)                                                                   \
    case number:                                                                                             \
        return formula;
#include "lists/algs.def"
    }
    __builtin_unreachable();
}

// c: the element of the condition tensor.
static inline float ternary(int alg, float x, float s, int c) {
    switch (alg) {
#define ZEMM_TERNARY(name, number, formula)                                                                  \
    case number:                                                                                             \
        return formula;
#include "lists/algs.def"
    }
    __builtin_unreachable();
}

static inline bool is_ternary(int alg) {
    switch (alg) {
#define ZEMM_TERNARY(name, number, formula) case number:
#include "lists/algs.def"
        return true;
    }
    return false;
}

static inline bool is_binary(int alg) {
    switch (alg) {
#define ZEMM_BINARY(name, number, formula) case number:
#include "lists/algs.def"
        return true;
    }
    return is_ternary(alg);
}
