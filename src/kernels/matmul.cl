// SPDX-License-Identifier: Apache-2.0
// dst = post_ops(sum over segments of scales * (src - src_zp) * (wei - wei_zp) + bias), tile by tile.
//
// One work-item owns TILE_M rows and TILE_N columns of dst. K runs in segments, inside which scales and zero
// points are constant. Zero points leave the loop over K (RFC "User's Precomputed Reductions for GeMM"):
//   sum (s - zs)(w - zw) = sum s w  -  zw * R  -  zs * sum w  +  length * zs * zw,   R = sum s
// R comes from the caller or from reduce_src.cl. Integer arithmetic is exact modulo 2^32.
#include "data_type.h"
#include "matmul_args.h"
#include "post_ops.h"
#include "spec.h"
#include "tensor.h"

#include POLICY

// The rows of a tile: where each row of src begins, and its coordinates for everything that is indexed by
// row.
struct tile_rows {
    int count;
    long src[TILE_M];
    struct row_index index[TILE_M];
};

// a[row][k]: src of the tile's rows from k0 on, as f32. Rows past the end are left as they are: they are
// multiplied with the rest, never stored.
static inline void load_a(bytes src, const struct tile_rows *rows, long k_stride, long k0, int length,
                          private float *a) {
    for (int i = 0; i < rows->count; ++i) {
        const long begin = rows->src[i] + k0 * k_stride;
        __private float *out = a + i * TILE_K;
        int k = 0;
        if (spec_src_unit() == UNIT_COLUMN)
            for (; k + 16 <= length; k += 16)
                vstore16(load_float16(src, spec_src_dt(), begin + k), 0, out + k);
        for (; k < length; ++k)
            out[k] = load_float(src, spec_src_dt(), begin + k * k_stride);
    }
}

// b[k][n]: weights of the tile's columns from k0 on, as f32; columns past the end are 0.
static inline void load_b(bytes wei, tensor t, long begin, long k0, int length, int columns,
                          private float *b) {
#if TILE_N % 16 == 0
    if (spec_wei_unit() == UNIT_COLUMN && columns == TILE_N) {
        for (int k = 0; k < length; ++k)
            for (int n = 0; n < TILE_N; n += 16)
                vstore16(load_float16(wei, spec_wei_dt(), begin + (k0 + k) * t->row + n), 0,
                         b + k * TILE_N + n);
        return;
    }
#endif
    for (int n = 0; n < TILE_N; ++n) {
        const bool inside = n < columns;
        const long column = begin + (inside ? n : 0) * t->column + k0 * t->row;
        int k = 0;
        if (spec_wei_unit() == UNIT_ROW)
            for (; k + 16 <= length; k += 16) {
                float values[16];
                vstore16(load_float16(wei, spec_wei_dt(), column + k), 0, values);
#pragma unroll
                for (int i = 0; i < 16; ++i)
                    b[(k + i) * TILE_N + n] = inside ? values[i] : 0.f;
            }
        for (; k < length; ++k)
            b[k * TILE_N + n] = inside ? load_float(wei, spec_wei_dt(), column + k * t->row) : 0.f;
    }
}

static inline float scale_at(ulong address, tensor t, float host, long offset) {
    return t->on_host ? host : load_float((bytes)address, t->data_type, offset);
}

static inline int zero_point_at(ulong address, tensor t, int host, long offset) {
    return t->on_host ? host : load_int((bytes)address, t->data_type, offset);
}

__attribute__((reqd_work_group_size(GROUP_X, 1, 1))) kernel void matmul(bytes src, bytes wei,
                                                                        global uchar *dst,
                                                                        global const struct matmul_problem *p,
                                                                        struct matmul_arguments args) {
    const long n0 = get_global_id(0) * TILE_N;
    const long row0 = get_global_id(1) * TILE_M;
    const long first_row = get_global_id(2) * p->rows + row0; // in the whole of dst
    if (n0 >= p->n)
        return;
    const int columns = (int)min((long)TILE_N, p->n - n0);

    struct tile_rows rows;
    rows.count = (int)min((long)TILE_M, p->rows - row0);
    for (int i = 0; i < rows.count; ++i) {
        rows.index[i] = row_at(p, first_row + i);
        rows.src[i] = row_offset(p, &p->src, &rows.index[i]);
    }
    // The weights and their parameters depend on the batch, never on the row within a tile.
    const struct row_index first = rows.index[0];
    const long wei_begin = batch_offset(p, &p->wei, &first) + n0 * p->wei.column;
    const long wei_scale_begin = batch_offset(p, &p->wei_scale, &first);
    const long wei_zp_begin = batch_offset(p, &p->wei_zp, &first);

    float a[TILE_M * TILE_K];
    vec_f b[TILE_K * NV];
    vec_f partial[ROWS * NV];
    vec_f result[TILE_M * NV]; // f32: scaled, over all segments so far
    vec_i isum[TILE_M * NV];   // integer: this segment
    vec_f fsum[TILE_M * NV];   // floating point: this segment
    for (int i = 0; i < TILE_M * NV; ++i) {
        result[i] = (vec_f)0.f;
        if (HAS(FLAG_INTEGER))
            isum[i] = (vec_i)0;
        else
            fsum[i] = (vec_f)0.f;
    }

    for (long segment = 0; segment * p->segment < p->k; ++segment) {
        const long k_begin = segment * p->segment;
        const long k_end = k_begin + p->segment;
        vec_i wei_sum[NV], wei_zp[NV];
        vec_f wei_scale[NV];
        for (int v = 0; v < NV; ++v)
            wei_sum[v] = (vec_i)0;
        for (int n = 0; n < TILE_N; ++n) {
            const long column = n0 + min(n, columns - 1);
            if (HAS(FLAG_WEI_ZP))
                ((private int *)wei_zp)[n] =
                    zero_point_at(args.wei_zp, &p->wei_zp, args.host_wei_zp,
                                  wei_zp_begin + k_begin / p->wei_zp.row_group * p->wei_zp.row +
                                      column_offset(&p->wei_zp, column));
            if (HAS(FLAG_WEI_SCALE))
                ((private float *)wei_scale)[n] =
                    scale_at(args.wei_scale, &p->wei_scale, args.host_wei_scale,
                             wei_scale_begin + k_begin / p->wei_scale.row_group * p->wei_scale.row +
                                 column_offset(&p->wei_scale, column));
        }

        // ---- sum of products over the segment
        for (long k0 = k_begin; k0 < k_end; k0 += TILE_K) {
            const int length = (int)min((long)TILE_K, k_end - k0);
            load_a(src, &rows, p->src.column, k0, length, a);
            load_b(wei, &p->wei, wei_begin, k0, length, columns, (private float *)b);
            if (!HAS(FLAG_INTEGER) && HAS(FLAG_WEI_ZP))
                for (int k = 0; k < length; ++k)
                    for (int v = 0; v < NV; ++v)
                        b[k * NV + v] -= to_vec_f(wei_zp[v]);
            if (HAS(FLAG_INTEGER) && HAS(FLAG_SRC_ZP))
                for (int k = 0; k < length; ++k)
                    for (int v = 0; v < NV; ++v)
                        wei_sum[v] += to_vec_i(b[k * NV + v]);
            for (int i = 0; i < rows.count; i += ROWS) {
                multiply(a + i * TILE_K, b, length, partial);
                for (int j = 0; j < ROWS * NV; ++j) {
                    if (HAS(FLAG_INTEGER))
                        isum[i * NV + j] += to_vec_i(partial[j]);
                    else
                        fsum[i * NV + j] += partial[j];
                }
            }
        }

        // ---- zero points and scales of the segment
        for (int i = 0; i < rows.count; ++i) {
            const struct row_index r = rows.index[i];
            int src_zp = 0, reduction = 0;
            float src_scale = 1.f;
            if (HAS(FLAG_INTEGER) && HAS(FLAG_SRC_ZP))
                src_zp = zero_point_at(args.src_zp, &p->src_zp, args.host_src_zp,
                                       row_offset(p, &p->src_zp, &r) + column_offset(&p->src_zp, k_begin));
            if (HAS(FLAG_INTEGER) && HAS(FLAG_WEI_ZP))
                reduction = load_int((bytes)args.reductions, DT_S32,
                                     row_offset(p, &p->reductions, &r) + segment * p->reductions.column);
            if (HAS(FLAG_SRC_SCALE))
                src_scale =
                    scale_at(args.src_scale, &p->src_scale, args.host_src_scale,
                             row_offset(p, &p->src_scale, &r) + column_offset(&p->src_scale, k_begin));
            for (int v = 0; v < NV; ++v) {
                const int j = i * NV + v;
                if (HAS(FLAG_INTEGER) && HAS(FLAG_WEI_ZP))
                    isum[j] -= wei_zp[v] * (vec_i)(reduction - (int)p->segment * src_zp);
                if (HAS(FLAG_INTEGER) && HAS(FLAG_SRC_ZP))
                    isum[j] -= wei_sum[v] * (vec_i)src_zp;
                if (!HAS(FLAG_SCALES))
                    continue;
                vec_f scaled = HAS(FLAG_INTEGER) ? to_vec_f(isum[j]) : fsum[j];
                if (HAS(FLAG_SRC_SCALE))
                    scaled *= (vec_f)src_scale;
                if (HAS(FLAG_WEI_SCALE))
                    scaled *= wei_scale[v];
                result[j] += scaled;
                if (HAS(FLAG_INTEGER))
                    isum[j] = (vec_i)0;
                else
                    fsum[j] = (vec_f)0.f;
            }
        }
    }

    // ---- epilogue: bias, post-ops, scale and zero point of dst, conversion
    for (int i = 0; i < rows.count; ++i) {
        const struct row_index r = rows.index[i];
        const long row = row_offset(p, &p->dst, &r);
        if (HAS(FLAG_EXACT_S32)) {
            for (int n = 0; n < columns; ++n)
                ((global int *)dst)[row + (n0 + n) * p->dst.column] = ((private int *)(isum + i * NV))[n];
            continue;
        }
        float x[TILE_N];
        for (int n = 0; n < TILE_N; ++n) {
            if (HAS(FLAG_SCALES))
                x[n] = ((private float *)(result + i * NV))[n];
            else if (HAS(FLAG_INTEGER))
                x[n] = (float)((private int *)(isum + i * NV))[n];
            else
                x[n] = ((private float *)(fsum + i * NV))[n];
        }
        if (HAS(FLAG_BIAS)) {
            const long bias = row_offset(p, &p->bias, &r);
            for (int n = 0; n < columns; ++n)
                x[n] += load_float((bytes)args.bias, p->bias.data_type, bias + (n0 + n) * p->bias.column);
        }
        if (HAS(FLAG_POST_OPS))
            apply_post_ops(p, &args, (bytes)dst, &r, n0, columns, x);
        if (HAS(FLAG_DST_SCALE)) {
            const long scale = row_offset(p, &p->dst_scale, &r);
            for (int n = 0; n < columns; ++n)
                x[n] /= scale_at(args.dst_scale, &p->dst_scale, args.host_dst_scale,
                                 scale + column_offset(&p->dst_scale, n0 + n));
        }
        if (HAS(FLAG_DST_ZP)) {
            const long zp = row_offset(p, &p->dst_zp, &r);
            for (int n = 0; n < columns; ++n)
                x[n] += (float)zero_point_at(args.dst_zp, &p->dst_zp, args.host_dst_zp,
                                             zp + column_offset(&p->dst_zp, n0 + n));
        }
        for (int n = 0; n < columns; ++n)
            store_float(dst, spec_dst_dt(), row + (n0 + n) * p->dst.column, x[n]);
    }
}
