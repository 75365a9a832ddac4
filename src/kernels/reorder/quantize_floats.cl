// SPDX-License-Identifier: Apache-2.0
// Dynamic quantisation to f8 and f4: each group of 32 or 16 elements along a dimension gets a scale
// (group_scale.h). Any layout of src and dst. The padding of dst is set to 0.
#include "quantize/group_scale.h"
#include "reorder/reorder_tensor.h"

#define GROUP (16 * spec_vectors())
#define LARGEST_GROUP 32

// The places of `count` elements along the dimension from coordinates c on.
static inline void places_of(global const struct group_problem *p, reordered t, bool is_blocked,
                             __private long *c, int count, __private long *places) {
    const long first = c[p->along];
    for (int i = 0; i < count; ++i) {
        if (is_blocked || i == 0) {
            c[p->along] = first + i;
            places[i] = element_offset(t, p->ndims, c);
        } else {
            places[i] = places[i - 1] + t->strides[p->along];
        }
    }
    c[p->along] = first;
}

static inline void store_element(global uchar *dst, long to, float x) {
    if (HAS(QUANTIZE_SHARED_BYTES))
        store_shared_narrow(dst, 4, to, (int)to_f4_e2m1(x));
    else
        store_float(dst, spec_dst_dt(), to, x);
}

static inline void load_group(global const struct group_problem *p, bytes src, __private long *c, int count,
                              __private float16 *x) {
    if (HAS(QUANTIZE_SRC_ROWS) && count == GROUP) {
        const long from = element_offset(&p->src, p->ndims, c);
        for (int v = 0; v < spec_vectors(); ++v)
            x[v] = load_float16(src, spec_src_dt(), from + 16 * v);
        return;
    }
    long places[LARGEST_GROUP];
    places_of(p, &p->src, HAS(REORDER_SRC_BLOCKED), c, count, places);
    for (int i = 0; i < count; ++i)
        ((__private float *)x)[i] = load_float(src, spec_src_dt(), places[i]);
}

static inline void store_group(global const struct group_problem *p, global uchar *dst, __private long *c,
                               int count, __private const float16 *x) {
    if (HAS(QUANTIZE_DST_ROWS) && count == GROUP) {
        const long to = element_offset(&p->dst, p->ndims, c);
        for (int v = 0; v < spec_vectors(); ++v)
            store_float16(dst, spec_dst_dt(), to + 16 * v, x[v]);
        return;
    }
    long places[LARGEST_GROUP];
    places_of(p, &p->dst, HAS(QUANTIZE_DST_BLOCKED), c, count, places);
    for (int i = 0; i < count; ++i)
        store_element(dst, places[i], ((__private const float *)x)[i]);
}

// Grid: work-items of groups_per_item groups.
__attribute__((reqd_work_group_size(1, 1, 1))) kernel void
quantize_floats(bytes src, global uchar *dst, global const struct group_problem *p,
                struct reorder_arguments args) {
    const long first = (long)get_global_id(0) * p->groups_per_item;
    const long end = min(first + p->groups_per_item, p->groups);
    for (long g = first; g < end; ++g) {
        long c[REORDER_MAX_NDIMS], rest = g, scale = 0;
        bool is_inside = true;
        for (int d = p->ndims - 1; d >= 0; --d) {
            const long index = rest % p->counts[d];
            rest /= p->counts[d];
            scale += index * p->scale_strides[d];
            c[d] = d == p->along ? index * GROUP : index;
            is_inside = is_inside && c[d] < p->dims[d];
        }
        float16 x[LARGEST_GROUP / 16];
        for (int v = 0; v < spec_vectors(); ++v)
            x[v] = (float16)0.f;
        const int count = (int)min((long)GROUP, p->padded_dims[p->along] - c[p->along]);
        if (is_inside) {
            load_group(p, src, c, (int)min((long)GROUP, p->dims[p->along] - c[p->along]), x);
            const struct group_scale s = group_scale_of(
                HAS(QUANTIZE_MX), largest_magnitude(x, spec_vectors()), p->most, p->most_exponent, false);
            ((global uchar *)args.dst_scale)[scale] = (uchar)s.code;
            for (int v = 0; v < spec_vectors(); ++v)
                x[v] = scaled_values(x[v], s.factor, p->most);
        }
        store_group(p, dst, c, count, x);
    }
}
