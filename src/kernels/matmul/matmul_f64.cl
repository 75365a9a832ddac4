// SPDX-License-Identifier: Apache-2.0
// f64: src, weights and their scales along any dimension, any plain layout. A work-item owns a tile of
// dst. A block of its weights becomes a panel in private memory, with which groups of rows are
// multiplied. Sums and bias are f64. They go to dst or, if more follows, to finish_dst_f64.
#define WITH_F64

#include "arithmetic/data_type.h"
#include "problem/tensor.h"

#define ROWS 4
#define TILE_ROWS 32
#define TILE_COLUMNS 16
#define TILE_K 64

static inline double load_wide(bytes p, int data_type, long i) {
    return data_type == DT_F64 ? ((global const double *)p)[i] : (double)load_float(p, data_type, i);
}

// The scale of an element. t: a tensor of scales, a host scalar, or neither.
static inline double scale_of(tensor t, ulong address, float host, long row, long column) {
    if (t->data_type == 0)
        return t->on_host ? host : 1.;
    return load_scale_element((bytes)address, t->data_type, row + column / t->column_group * t->column);
}

static inline bool has_scale(tensor t) {
    return t->data_type != 0 || t->on_host;
}

static inline void load_panel(bytes wei, global const struct matmul_problem *p,
                              const struct matmul_arguments *args, const struct row_index *r, long k0,
                              int length, long n0, int columns, __private double *panel) {
    const long begin = batch_offset(p, &p->wei, r), scales = batch_offset(p, &p->wei_scale, r);
    for (int k = 0; k < length; ++k)
        for (int n = 0; n < TILE_COLUMNS; ++n) {
            double w = 0.;
            if (n < columns) {
                w = ((global const double *)wei)[begin + (k0 + k) * p->wei.row + (n0 + n) * p->wei.column];
                if (has_scale(&p->wei_scale))
                    w *= scale_of(&p->wei_scale, args->wei_scale, args->host_wei_scale,
                                  scales + (k0 + k) / p->wei_scale.row_group * p->wei_scale.row, n0 + n);
            }
            panel[k * TILE_COLUMNS + n] = w;
        }
}

static inline void load_rows(bytes src, global const struct matmul_problem *p,
                             const struct matmul_arguments *args, long first_row, int count, long k0,
                             int length, __private double *rows) {
    for (int i = 0; i < ROWS; ++i) {
        const struct row_index r = row_at(p, first_row + min(i, count - 1));
        const long begin = row_offset(p, &p->src, &r), scales = row_offset(p, &p->src_scale, &r);
        for (int k = 0; k < length; ++k) {
            double s = ((global const double *)src)[begin + (k0 + k) * p->src.column];
            if (has_scale(&p->src_scale))
                s *= scale_of(&p->src_scale, args->src_scale, args->host_src_scale, scales, k0 + k);
            rows[i * TILE_K + k] = s;
        }
    }
}

// sums: [TILE_ROWS][TILE_COLUMNS]
static inline void multiply_rows(__private const double *rows, __private const double *panel, int length,
                                 __private double *sums) {
    double8 sum[ROWS][2];
#pragma unroll
    for (int i = 0; i < ROWS; ++i) {
        sum[i][0] = vload8(0, sums + i * TILE_COLUMNS);
        sum[i][1] = vload8(1, sums + i * TILE_COLUMNS);
    }
#pragma unroll 1
    for (int k = 0; k < length; ++k) {
        const double8 low = vload8(0, panel + k * TILE_COLUMNS), high = vload8(1, panel + k * TILE_COLUMNS);
#pragma unroll
        for (int i = 0; i < ROWS; ++i) {
            const double s = rows[i * TILE_K + k];
            sum[i][0] = fma((double8)s, low, sum[i][0]);
            sum[i][1] = fma((double8)s, high, sum[i][1]);
        }
    }
#pragma unroll
    for (int i = 0; i < ROWS; ++i) {
        vstore8(sum[i][0], 0, sums + i * TILE_COLUMNS);
        vstore8(sum[i][1], 1, sums + i * TILE_COLUMNS);
    }
}

__attribute__((reqd_work_group_size(1, 1, 1))) kernel void matmul_f64(bytes src, bytes wei, global uchar *dst,
                                                                      global const struct matmul_problem *p,
                                                                      struct matmul_arguments args) {
    const long n0 = (long)get_global_id(0) * TILE_COLUMNS, m0 = (long)get_global_id(1) * TILE_ROWS;
    const long first_row = get_global_id(2) * p->m + m0; // counted in the whole batch
    const int columns = (int)min((long)TILE_COLUMNS, p->n - n0), count = (int)min((long)TILE_ROWS, p->m - m0);
    const struct row_index first = row_at(p, first_row);
    double sums[TILE_ROWS * TILE_COLUMNS], panel[TILE_K * TILE_COLUMNS], rows[ROWS * TILE_K];
    for (int i = 0; i < TILE_ROWS * TILE_COLUMNS; ++i)
        sums[i] = 0.;
    for (long k0 = 0; k0 < p->k; k0 += TILE_K) {
        const int length = (int)min((long)TILE_K, p->k - k0);
        load_panel(wei, p, &args, &first, k0, length, n0, columns, panel);
        for (int i = 0; i < count; i += ROWS) {
            load_rows(src, p, &args, first_row + i, count - i, k0, length, rows);
            multiply_rows(rows, panel, length, sums + i * TILE_COLUMNS);
        }
    }
    for (int i = 0; i < count; ++i) {
        const struct row_index r = row_at(p, first_row + i);
        const long to = row_offset(p, &p->dst, &r), bias = row_offset(p, &p->bias, &r);
        for (int n = 0; n < columns; ++n) {
            double x = sums[i * TILE_COLUMNS + n];
            if (p->bias.data_type != 0)
                x += load_wide((bytes)args.bias, p->bias.data_type, bias + (n0 + n) * p->bias.column);
            ((global double *)dst)[to + (n0 + n) * p->dst.column] = x;
        }
    }
}
