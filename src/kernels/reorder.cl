// SPDX-License-Identifier: Apache-2.0
// The general reorder, from any layout to any other:
//   dst = (src_scale * (src - src_zp) + beta * (dst - dst_zp)) / dst_scale + dst_zp
//
// The loops are those over dst. They include its padding, which is set to 0. Where loops reach
// beyond the padded dimensions, nothing is written. A work-item writes whole runs of dst's
// innermost loop, so that the two 4-bit elements of a byte always belong to one work-item.
#include "reorder_spec.h"

typedef global const struct reorder_problem *problem;
typedef global const struct reorder_parameter *parameter;

static inline long blocked_offset(problem p, const __private long *c) {
    long rest[REORDER_MAX_NDIMS];
    long offset = p->src_offset, stride = 1;
    for (int d = 0; d < p->ndims; ++d) {
        offset += c[d] / p->src_blocks[d] * p->src_strides[d];
        rest[d] = c[d] % p->src_blocks[d];
    }
    for (int i = p->src_inner_nblks - 1; i >= 0; --i) {
        const long d = p->src_inner_idxs[i], size = p->src_inner_blks[i];
        offset += rest[d] % size * stride;
        rest[d] /= size;
        stride *= size;
    }
    return offset;
}

static inline long parameter_offset(problem p, parameter t, const __private long *c) {
    long offset = 0;
    const int n = p->ndims;
    for (int d = 0; d < n - 2; ++d)
        offset += c[d] * t->strides[d];
    if (n > 1)
        offset += c[n - 2] / t->row_group * t->strides[n - 2];
    return offset + c[n - 1] / t->column_group * t->strides[n - 1];
}

static inline float scale_at(problem p, parameter t, ulong address, float host, const __private long *c) {
    return t->on_host ? host : load_scale_element((bytes)address, t->data_type, parameter_offset(p, t, c));
}

static inline int zero_point_at(problem p, parameter t, ulong address, int host, const __private long *c) {
    return t->on_host ? host : load_int((bytes)address, t->data_type, parameter_offset(p, t, c));
}

static inline void copy_element(bytes src, long from, global uchar *dst, long to) {
    switch (spec_bits()) {
    case 4:
        store_nibble(dst, to, load_nibble(src, from));
        break;
    case 8:
        dst[to] = src[from];
        break;
    case 16:
        ((global ushort *)dst)[to] = ((global const ushort *)src)[from];
        break;
    case 32:
        ((global uint *)dst)[to] = ((global const uint *)src)[from];
        break;
    case 64:
        ((global ulong *)dst)[to] = ((global const ulong *)src)[from];
        break;
    }
}

// Stores of integers x, saturated.
static inline void store_int_s32(global uchar *dst, long to, long x) {
    ((global int *)dst)[to] = convert_int_sat(x);
}
static inline void store_int_s8(global uchar *dst, long to, long x) {
    ((global char *)dst)[to] = convert_char_sat(x);
}
static inline void store_int_u8(global uchar *dst, long to, long x) {
    dst[to] = convert_uchar_sat(x);
}
static inline void store_int_s4(global uchar *dst, long to, long x) {
    store_nibble(dst, to, (int)clamp(x, -8l, 7l));
}
static inline void store_int_u4(global uchar *dst, long to, long x) {
    store_nibble(dst, to, (int)clamp(x, 0l, 15l));
}

static inline void store_int(global uchar *dst, long to, long x) {
    switch (spec_dst_dt()) {
#define ZEMM_INT_TYPE(name, NAME, ...)                                                                       \
    case DT_##NAME:                                                                                          \
        store_int_##name(dst, to, x);                                                                        \
        break;
#include "types.def"
    }
}

static inline void store_zero(global uchar *dst, long to) {
    switch (spec_bits()) {
    case 4:
        store_nibble(dst, to, 0);
        break;
    case 8:
        dst[to] = 0;
        break;
    case 16:
        ((global ushort *)dst)[to] = 0;
        break;
    case 32:
        ((global uint *)dst)[to] = 0;
        break;
    case 64:
        ((global ulong *)dst)[to] = 0;
        break;
    }
}

static inline void convert_element(problem p, const struct reorder_arguments *args, bytes src, long from,
                                   global uchar *dst, long to, const __private long *c) {
    if (HAS(REORDER_COPY)) {
        copy_element(src, from, dst, to);
        return;
    }
    int src_zp = 0, dst_zp = 0;
    if (HAS(REORDER_SRC_ZP))
        src_zp = zero_point_at(p, &p->src_zp, args->src_zp, args->host_src_zp, c);
    if (HAS(REORDER_DST_ZP))
        dst_zp = zero_point_at(p, &p->dst_zp, args->dst_zp, args->host_dst_zp, c);
    if (HAS(REORDER_INTEGER)) {
        store_int(dst, to, (long)load_int(src, spec_src_dt(), from) - src_zp + dst_zp);
        return;
    }
    float x = load_float(src, spec_src_dt(), from);
    if (HAS(REORDER_SRC_ZP))
        x -= (float)src_zp;
    if (HAS(REORDER_SRC_SCALE))
        x *= scale_at(p, &p->src_scale, args->src_scale, args->host_src_scale, c);
    if (HAS(REORDER_SUM))
        x += p->beta * (load_float(dst, spec_dst_dt(), to) - (float)dst_zp);
    if (HAS(REORDER_DST_SCALE))
        x /= scale_at(p, &p->dst_scale, args->dst_scale, args->host_dst_scale, c);
    if (HAS(REORDER_DST_ZP))
        x += (float)dst_zp;
    store_float(dst, spec_dst_dt(), to, x);
}

// How many elements of a run of `count` from coordinates c on are inside of the dimensions dims.
// They are the first ones of the run.
static inline long inside(problem p, global const long *dims, const struct reorder_loop *inner, long count,
                          const __private long *c) {
    for (int d = 0; d < p->ndims; ++d)
        if (d != inner->dim && c[d] >= dims[d])
            return 0;
    return clamp((dims[inner->dim] - c[inner->dim] + inner->step - 1) / inner->step, 0l, count);
}

__attribute__((reqd_work_group_size(1, 1, 1))) kernel void reorder(bytes src, global uchar *dst, problem p,
                                                                   struct reorder_arguments args) {
    const long first = (long)get_global_id(0) * p->runs_per_item;
    const long end = min(first + p->runs_per_item, p->runs);
    for (long run = first; run < end; ++run) {
        long c[REORDER_MAX_NDIMS];
        for (int d = 0; d < p->ndims; ++d)
            c[d] = 0;
        long rest = run / p->pieces;
        const long begin = run % p->pieces * p->piece;
        const struct reorder_loop inner = p->loops[0];
        const long count = min(p->piece, inner.size - begin);
        long from = p->src_offset + begin * inner.src_stride, to = p->dst_offset + begin * inner.dst_stride;
        c[inner.dim] = begin * inner.step;
        for (int i = 1; i < p->nloops; ++i) {
            const long index = rest % p->loops[i].size;
            rest /= p->loops[i].size;
            c[p->loops[i].dim] += index * p->loops[i].step;
            from += index * p->loops[i].src_stride;
            to += index * p->loops[i].dst_stride;
        }
        const long valid = inside(p, p->dims, &inner, count, c);
        const long padded = inside(p, p->padded_dims, &inner, count, c);
        for (long i = 0; i < valid; ++i) {
            const long at = HAS(REORDER_SRC_BLOCKED) ? blocked_offset(p, c) : from + i * inner.src_stride;
            convert_element(p, &args, src, at, dst, to + i * inner.dst_stride, c);
            c[inner.dim] += inner.step;
        }
        for (long i = valid; i < padded; ++i)
            store_zero(dst, to + i * inner.dst_stride);
    }
}
