// SPDX-License-Identifier: Apache-2.0
// The general reorder, from any layout to any other:
//   dst = (src_scale * (src - src_zp) + beta * (dst - dst_zp)) / dst_scale + dst_zp
//
// The loops are those over dst. They include its padding, which is set to 0. Where loops reach
// beyond the padded dimensions, nothing is written. A work-item writes whole runs of dst's
// innermost loop, so that the elements of a byte always belong to one work-item.
#include "arithmetic/stochastic.h"
#include "reorder/reorder_element.h"
#include "reorder/reorder_tensor.h"

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
    real x = load_real(src, spec_src_dt(), from);
    if (HAS(REORDER_SRC_ZP))
        x -= (real)src_zp;
    if (HAS(REORDER_SRC_SCALE))
        x *= scale_at(p, &p->src_scale, args->src_scale, args->host_src_scale, c);
    if (HAS(REORDER_SUM))
        x += p->beta * (load_real(dst, spec_dst_dt(), to) - (real)dst_zp);
    if (HAS(REORDER_DST_SCALE))
        x /= scale_at(p, &p->dst_scale, args->dst_scale, args->host_dst_scale, c);
    if (HAS(REORDER_DST_ZP))
        x += (real)dst_zp;
    if (HAS(REORDER_SATURATE) && !isnan(x))
        x = clamp(x, -(real)p->most, (real)p->most);
#ifndef WITH_F64
    if (HAS(REORDER_STOCHASTIC) && !isinf(x)) {
        // Two elements of 8 bits share a word of random bits.
        const ulong i = to - p->dst_offset;
        const uint word = random_narrow((uint)(i >> 1), *(global const uint *)args->rounding_seed);
        x = round_at_random(x, word >> (i & 1) * 16 & 0xffff & p->dropped, p->dropped, p->most, p->smallest);
    }
#endif
    store_real(dst, to, x);
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
        long from = p->src.offset + begin * inner.src_stride, to = p->dst_offset + begin * inner.dst_stride;
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
            const long at =
                HAS(REORDER_SRC_BLOCKED) ? element_offset(&p->src, p->ndims, c) : from + i * inner.src_stride;
            convert_element(p, &args, src, at, dst, to + i * inner.dst_stride, c);
            c[inner.dim] += inner.step;
        }
        for (long i = valid; i < padded; ++i)
            store_zero(dst, to + i * inner.dst_stride);
    }
}
