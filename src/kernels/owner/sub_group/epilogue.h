// SPDX-License-Identifier: Apache-2.0
// The epilogue of a row: bias, post-ops, scale and zero point of dst, conversion and store. What a
// problem does not have is pruned when the module is built.
#pragma once

#include OWNER

#include "arithmetic/post_ops.h"
#include "problem/spec.h"
#include "problem/tensor.h"

// Applies all post-ops to x[width], the results of row r: column `first` and every COLUMN_STEP-th
// after it. dst still has its old contents, which the sum post-op reads.
static void apply_post_ops(global const struct matmul_problem *p, const struct matmul_arguments *args,
                           bytes dst, const struct row_index *r, long first, int width, private float *x) {
    for (int i = 0; i < p->post_ops_len; ++i) {
        global const struct post_op_arg *op = &p->post_ops[i];
        const int alg = op->alg;
        if (alg == POST_OP_sum) {
            const long row = row_offset(p, &p->dst, r);
            for (int j = 0; j < width; ++j) {
                const float old = load_float(dst, op->src1.data_type,
                                             row + column_offset(&p->dst, first + j * COLUMN_STEP));
                x[j] += SUM_TERM(op, old);
            }
        } else if (
#define ZEMM_TENSOR_KIND(name, number) alg == POST_OP_##name ||
#include "lists/algs.def"
            is_binary(alg)) {
            bytes src1 = (bytes)args->post_op_src1[i];
            bytes src2 = (bytes)args->post_op_src2[i];
            const long row1 = row_offset(p, &op->src1, r);
            const long row2 = row_offset(p, &op->src2, r);
            for (int j = 0; j < width; ++j) {
                const float s = load_float(src1, op->src1.data_type,
                                           row1 + column_offset(&op->src1, first + j * COLUMN_STEP));
#define ZEMM_TENSOR_KIND(name, number)                                                                       \
    if (alg == POST_OP_##name)                                                                               \
        x[j] = FORMULA_##name(op, x[j], s);                                                                  \
    else
#include "lists/algs.def"
                if (is_ternary(alg))
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

// Whether the work-item has all its columns, and they are contiguous in the tensor.
static inline bool is_dense_row(tensor t, int columns) {
    return t->column == 1 && columns == TILE_COLUMNS;
}

// Turns the scaled sums x[NV] of row r into values of dst. The work-item has `columns` columns in
// the matrix, the first is n0.
static inline void finish_row(global const struct matmul_problem *p, const struct matmul_arguments *args,
                              global const uchar *dst, const struct row_index *r, long n0, int columns,
                              __private column_f *x) {
    __private float *elements = (__private float *)x;
    if (HAS(FLAG_BIAS)) {
        const long bias = row_offset(p, &p->bias, r) + n0 * p->bias.column;
        if (is_dense_row(&p->bias, columns))
            for (int v = 0; v < NV; ++v)
                x[v] += load_column_f((bytes)args->bias, p->bias.data_type, bias + v * LANES);
        else
            for (int n = 0; n < columns; ++n)
                elements[n] +=
                    load_float((bytes)args->bias, p->bias.data_type, bias + n * COLUMN_STEP * p->bias.column);
    }
    if (HAS(FLAG_POST_OPS))
        apply_post_ops(p, args, dst, r, n0, columns, elements);
    if (HAS(FLAG_DST_SCALE)) {
        const long scale = row_offset(p, &p->dst_scale, r);
        for (int n = 0; n < columns; ++n)
            elements[n] /=
                p->dst_scale.on_host
                    ? args->host_dst_scale
                    : load_scale_element((bytes)args->dst_scale, p->dst_scale.data_type,
                                         scale + column_offset(&p->dst_scale, n0 + n * COLUMN_STEP));
    }
    if (HAS(FLAG_DST_ZP)) {
        const long zp = row_offset(p, &p->dst_zp, r);
        for (int n = 0; n < columns; ++n)
            elements[n] +=
                (float)(p->dst_zp.on_host ? args->host_dst_zp
                                          : load_int((bytes)args->dst_zp, p->dst_zp.data_type,
                                                     zp + column_offset(&p->dst_zp, n0 + n * COLUMN_STEP)));
    }
}

// x[NV]: f32, or the bits of s32 with FLAG_EXACT_S32.
static inline void store_row(global const struct matmul_problem *p, global uchar *dst,
                             const struct row_index *r, long n0, int columns, __private const column_f *x) {
    __private const float *elements = (__private const float *)x;
    const long row = row_offset(p, &p->dst, r) + n0 * p->dst.column;
    const bool dense = is_dense_row(&p->dst, columns);
    if (HAS(FLAG_EXACT_S32)) {
        global int *to = (global int *)dst + row;
        if (dense)
            for (int v = 0; v < NV; ++v)
                store_column_s32(as_column_i(x[v]), to + v * LANES);
        else
            for (int n = 0; n < columns; ++n)
                to[n * COLUMN_STEP * p->dst.column] = as_int(elements[n]);
        return;
    }
    if (dense)
        for (int v = 0; v < NV; ++v)
            store_column_f(dst, spec_dst_dt(), row + v * LANES, x[v]);
    else
        for (int n = 0; n < columns; ++n)
            store_float(dst, spec_dst_dt(), row + n * COLUMN_STEP * p->dst.column, elements[n]);
}
