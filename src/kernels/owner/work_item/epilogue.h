// SPDX-License-Identifier: Apache-2.0
// The epilogue of a row: bias, post-ops, scale and zero point of dst, conversion and store. What the
// problem has of these is read from the argument block. Only whether there are post-ops is a constant:
// all their algorithms take a third of a module's compile time.
#pragma once

#include "arithmetic/post_ops.h"
#include "owner/work_item/choices.h"
#include "owner/work_item/elements.h"
#include "problem/spec.h"
#include "problem/tensor.h"

// Applies all post-ops to x[NV], the results of row r: `columns` columns from n0 on. dst still has its
// old contents, which the sum post-op reads.
static __attribute__((noinline)) void apply_post_ops(global const struct matmul_problem *p,
                                                     const struct matmul_arguments *args, bytes dst,
                                                     const struct row_index *r, long n0, int columns,
                                                     __private column_f *x) {
    __private float *elements = (__private float *)x;
    column_f loaded[NV], condition[NV];
    __private const float *s = (__private const float *)loaded, *c = (__private const float *)condition;
    for (int i = 0; i < p->post_ops_len; ++i) {
        global const struct post_op_arg *op = &p->post_ops[i];
        const int alg = op->alg;
        if (alg == POST_OP_sum) {
            load_elements(dst, &p->dst, op->src1.data_type, row_offset(p, &p->dst, r), n0, columns, loaded);
            for (int j = 0; j < columns; ++j)
                elements[j] += SUM_TERM(op, s[j]);
        } else if (
#define ZEMM_TENSOR_KIND(name, number) alg == POST_OP_##name ||
#include "lists/algs.def"
            is_binary(alg)) {
            load_elements((bytes)args->post_op_src1[i], &op->src1, op->src1.data_type,
                          row_offset(p, &op->src1, r), n0, columns, loaded);
            if (is_ternary(alg))
                load_elements((bytes)args->post_op_src2[i], &op->src2, op->src2.data_type,
                              row_offset(p, &op->src2, r), n0, columns, condition);
            for (int j = 0; j < columns; ++j)
                elements[j] =
#define ZEMM_TENSOR_KIND(name, number) alg == POST_OP_##name ? FORMULA_##name(op, elements[j], s[j]):
#include "lists/algs.def"
                    is_ternary(alg) ? ternary(alg, elements[j], s[j], (int)c[j])
                                    : binary(alg, elements[j], s[j]);
        } else {
            for (int j = 0; j < columns; ++j)
                elements[j] = eltwise(alg, elements[j], op->alpha, op->beta);
        }
    }
}

// These three are done in this order, on x[NV], the values of row r: `columns` columns from n0 on.
static inline void add_bias(global const struct matmul_problem *p, const struct matmul_arguments *args,
                            const struct row_index *r, long n0, int columns, __private column_f *x) {
    column_f loaded[NV];
    if (!IS_THERE(&p->bias))
        return;
    load_elements((bytes)args->bias, &p->bias, p->bias.data_type, row_offset(p, &p->bias, r), n0, columns,
                  loaded);
    for (int v = 0; v < NV; ++v)
        x[v] += loaded[v];
}

static inline void divide_by_dst_scale(global const struct matmul_problem *p,
                                       const struct matmul_arguments *args, const struct row_index *r,
                                       long n0, int columns, __private column_f *x) {
    column_f loaded[NV];
    if (!IS_THERE(&p->dst_scale))
        return;
    if (!p->dst_scale.on_host)
        load_elements((bytes)args->dst_scale, &p->dst_scale, p->dst_scale.data_type,
                      row_offset(p, &p->dst_scale, r), n0, columns, loaded);
    for (int v = 0; v < NV; ++v)
        x[v] /= p->dst_scale.on_host ? (column_f)args->host_dst_scale : loaded[v];
}

static inline void add_dst_zero_point(global const struct matmul_problem *p,
                                      const struct matmul_arguments *args, const struct row_index *r, long n0,
                                      int columns, __private column_f *x) {
    column_f loaded[NV];
    if (!IS_THERE(&p->dst_zp))
        return;
    if (!p->dst_zp.on_host)
        load_elements((bytes)args->dst_zp, &p->dst_zp, p->dst_zp.data_type, row_offset(p, &p->dst_zp, r), n0,
                      columns, loaded);
    for (int v = 0; v < NV; ++v)
        x[v] += p->dst_zp.on_host ? (column_f)(float)args->host_dst_zp : loaded[v];
}

// Turns the scaled sums x[NV] of row r into values of dst. The first of `columns` columns is n0.
static inline void finish_row(global const struct matmul_problem *p, const struct matmul_arguments *args,
                              global const uchar *dst, const struct row_index *r, long n0, int columns,
                              __private column_f *x) {
    add_bias(p, args, r, n0, columns, x);
    if (HAS(FLAG_POST_OPS))
        apply_post_ops(p, args, dst, r, n0, columns, x);
    divide_by_dst_scale(p, args, r, n0, columns, x);
    add_dst_zero_point(p, args, r, n0, columns, x);
}

// x[NV]: f32, or the bits of s32 with FLAG_EXACT_S32.
static inline void store_row(global const struct matmul_problem *p, global uchar *dst,
                             const struct row_index *r, long n0, int columns, __private const column_f *x) {
    const long row = row_offset(p, &p->dst, r);
    if (!HAS(FLAG_EXACT_S32)) {
#if LANES > 1
        const int type = p->dst.data_type;
        if (columns == TILE_N && p->dst.column == 1 && (type == DT_F16 || type == DT_F32)) {
            store_whole_row(dst, type, row + n0, x);
            return;
        }
#endif
        store_elements(dst, &p->dst, row, n0, columns, x);
        return;
    }
    global int *to = (global int *)dst + row + n0 * p->dst.column;
    if (p->dst.column == 1 && columns == TILE_N)
        for (int v = 0; v < NV; ++v)
            store_column_s32(as_column_i(x[v]), to + v * LANES);
    else
#pragma unroll 1
        for (int n = 0; n < columns; ++n)
            to[n * p->dst.column] = ((__private const int *)x)[n];
}
