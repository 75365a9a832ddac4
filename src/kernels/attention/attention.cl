// SPDX-License-Identifier: Apache-2.0
// Attention of one new token (src/attention/attention.h): dst = softmax(scale * q k^T) v. Blocks of tokens
// are added up with the largest score so far (Milakov and Gimelshein, 2018, arXiv 1805.02867), so that any
// number of tokens needs no scratchpad.
#define WITHOUT_SMALL_FLOATS
#include "args/attention_args.h"
#include "arithmetic/float_tensors.h"
#include "problem/spec_constant.h"

SPEC_CONSTANT(type, ATTENTION_SPEC_TYPE, DT_F32)
SPEC_CONSTANT(rows, ATTENTION_SPEC_ROWS, 1)

#define MOST_ROWS 4
#define MOST_VECTORS 4 // of a row of v that are summed at once
#define BLOCK 128      // tokens
#define LANES 16
#define KEYS 4 // whose scores are computed at once
#define INLINE static inline __attribute__((always_inline))

// Heads of q with the same k and v.
struct heads {
    bytes k, v;
    global const uchar *mask;
    long q;                         // their first element in q and dst
    long begin, end;                // the tokens from the first to the last one that are seen
    float largest[MOST_ROWS];       // score
    float16 total[MOST_ROWS];       // of exp(score - largest)
    float scores[MOST_ROWS][BLOCK]; // of a block, then exp(score - largest)
    float rescale[MOST_ROWS];       // what sums of earlier blocks are multiplied by
    float16 sums[MOST_ROWS][ATTENTION_MOST_WIDTH / LANES]; // of v
};

static inline float sum_of(float16 x) {
    const float8 a = x.lo + x.hi;
    const float4 b = a.lo + a.hi;
    return b.x + b.y + b.z + b.w;
}

// The halves of each four elements of x, and of y.
#define LOW(x, y) __builtin_shufflevector(x, y, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29)
#define HIGH(x, y) __builtin_shufflevector(x, y, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31)
#define FRONT(x, y) __builtin_shufflevector(x, y, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29)
#define BACK(x, y) __builtin_shufflevector(x, y, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31)

static inline float4 sums_of(float16 a, float16 b, float16 c, float16 d) {
    const float16 ab = LOW(a, b) + HIGH(a, b), cd = LOW(c, d) + HIGH(c, d);
    const float16 all = FRONT(ab, cd) + BACK(ab, cd);
    const float8 half_of_all = all.lo + all.hi;
    return half_of_all.lo + half_of_all.hi;
}

static inline float largest_of(float16 x) {
    const float8 a = fmax(x.lo, x.hi);
    const float4 b = fmax(a.lo, a.hi);
    return fmax(fmax(b.x, b.y), fmax(b.z, b.w));
}

// Whether none of 16 tokens is seen.
static inline bool are_hidden(global const uchar *mask) {
    return !any(as_char16(vload16(0, mask)) != (char16)0);
}

static inline void find_tokens(long tokens, __private struct heads *h) {
    h->begin = 0, h->end = tokens;
    if (!h->mask)
        return;
    while (h->end >= LANES && are_hidden(h->mask + h->end - LANES))
        h->end -= LANES;
    while (h->end > 0 && !h->mask[h->end - 1])
        --h->end;
    while (h->begin + LANES <= h->end && are_hidden(h->mask + h->begin))
        h->begin += LANES;
    while (h->begin < h->end && !h->mask[h->begin])
        ++h->begin;
}

// Computes the scores of a block of n tokens from t0 on. Behind its end the last one is repeated.
INLINE void score(const int rows, global const struct attention_arguments *a, long t0, int n,
                  __private struct heads *h) {
    const int type = spec_type();
#pragma unroll 1
    for (int t = 0; t < n; t += KEYS) {
        long at[KEYS];
        float16 dots[MOST_ROWS][KEYS];
#pragma unroll
        for (int i = 0; i < KEYS; ++i)
            at[i] = (t0 + min(t + i, n - 1)) * a->k_strides[2];
#pragma unroll
        for (int r = 0; r < rows; ++r)
#pragma unroll
            for (int i = 0; i < KEYS; ++i)
                dots[r][i] = (float16)0.f;
#pragma unroll 4
        for (long d = 0; d < a->width; d += LANES) {
            float16 q[MOST_ROWS];
#pragma unroll
            for (int r = 0; r < rows; ++r)
                q[r] = load16((bytes)a->q, type, h->q + r * a->width + d);
#pragma unroll
            for (int i = 0; i < KEYS; ++i) {
                const float16 key = load16(h->k, type, at[i] + d);
#pragma unroll
                for (int r = 0; r < rows; ++r)
                    dots[r][i] = fma(key, q[r], dots[r][i]);
            }
        }
#pragma unroll
        for (int r = 0; r < rows; ++r)
            vstore4(sums_of(dots[r][0], dots[r][1], dots[r][2], dots[r][3]) * a->scale, 0, h->scores[r] + t);
    }
}

// Turns the scores of a row into factors of the tokens.
static inline void exponentiate(long t0, int n, int r, __private struct heads *h) {
    __private float *const scores = h->scores[r];
    for (int t = n; t % LANES; ++t)
        scores[t] = -INFINITY;
    float16 most = (float16)-INFINITY;
#pragma unroll 1
    for (int t = 0; t < n; t += LANES) {
        if (h->mask && t + LANES <= n) {
            const char16 seen = as_char16(vload16(0, h->mask + t0 + t)) != (char16)0;
            vstore16(select((float16)-INFINITY, vload16(0, scores + t), convert_int16(seen)), 0, scores + t);
        } else if (h->mask) {
            for (int i = t; i < n; ++i)
                scores[i] = h->mask[t0 + i] ? scores[i] : -INFINITY;
        }
        most = fmax(most, vload16(0, scores + t));
    }
    const float before = h->largest[r], largest = fmax(before, largest_of(most));
    const float less = largest == -INFINITY ? 0.f : largest; // no token has been seen yet
    h->rescale[r] = exp(before - less);
    h->largest[r] = largest;
    h->total[r] *= h->rescale[r];
#pragma unroll 1
    for (int t = 0; t < n; t += LANES) {
        const float16 x = exp(vload16(0, scores + t) - less);
        vstore16(x, 0, scores + t);
        h->total[r] += x;
    }
}

INLINE void add_value(const int rows, const int vectors, global const struct attention_arguments *a, long t0,
                      int t, long d, __private const struct heads *h, __private float16 *sums) {
#pragma unroll
    for (int i = 0; i < vectors; ++i) {
        const float16 x = load16(h->v, spec_type(), (t0 + t) * a->v_strides[2] + d + i * LANES);
#pragma unroll
        for (int r = 0; r < rows; ++r)
            sums[r * vectors + i] = fma(x, (float16)h->scores[r][t], sums[r * vectors + i]);
    }
}

// Adds the block's sums of `vectors` vectors of v, from column d on. `apart` tokens have sums of their own,
// so that additions need not wait for each other.
INLINE void add_values(const int rows, const int vectors, const int apart,
                       global const struct attention_arguments *a, long t0, int n, long d,
                       __private struct heads *h) {
    float16 sums[MOST_ROWS * MOST_VECTORS];
#pragma unroll
    for (int i = 0; i < rows * vectors * apart; ++i)
        sums[i] = (float16)0.f;
    int t = 0;
#pragma unroll 1
    for (; t + apart <= n; t += apart)
#pragma unroll
        for (int p = 0; p < apart; ++p)
            add_value(rows, vectors, a, t0, t + p, d, h, sums + p * rows * vectors);
#pragma unroll 1
    for (; t < n; ++t)
        add_value(rows, vectors, a, t0, t, d, h, sums);
#pragma unroll
    for (int r = 0; r < rows; ++r)
#pragma unroll
        for (int i = 0; i < vectors; ++i) {
            float16 sum = h->sums[r][d / LANES + i] * h->rescale[r];
#pragma unroll
            for (int p = 0; p < apart; ++p)
                sum += sums[(p * rows + r) * vectors + i];
            h->sums[r][d / LANES + i] = sum;
        }
}

INLINE void attend(const int rows, global const struct attention_arguments *a, long item) {
    const long parts = a->shared / rows, head = item / parts % a->heads, sequence = item / parts / a->heads;
    const int bytes_each = spec_type() == DT_F32 ? 4 : 2;
    struct heads h;
    h.k = (bytes)a->k + (sequence * a->k_strides[0] + head * a->k_strides[1]) * bytes_each;
    h.v = (bytes)a->v + (sequence * a->v_strides[0] + head * a->v_strides[1]) * bytes_each;
    h.mask = a->mask ? (global const uchar *)a->mask + sequence * a->mask_stride : 0;
    h.q = item * rows * a->width;
    find_tokens(a->tokens, &h);
    for (int r = 0; r < rows; ++r) {
        h.largest[r] = -INFINITY;
        h.total[r] = (float16)0.f;
        for (long i = 0; i < a->width / LANES; ++i)
            h.sums[r][i] = (float16)0.f;
    }
#pragma unroll 1
    for (long t0 = h.begin; t0 < h.end; t0 += BLOCK) {
        const int n = (int)min((long)BLOCK, h.end - t0);
        score(rows, a, t0, n, &h);
        for (int r = 0; r < rows; ++r)
            exponentiate(t0, n, r, &h);
        long d = 0;
#pragma unroll 1
        for (; d + MOST_VECTORS * LANES <= a->width; d += MOST_VECTORS * LANES)
            add_values(rows, MOST_VECTORS, 4 / rows, a, t0, n, d, &h);
#pragma unroll 1
        for (; d < a->width; d += LANES)
            add_values(rows, 1, 4, a, t0, n, d, &h);
    }
    for (int r = 0; r < rows; ++r) {
        const float total = sum_of(h.total[r]), inverse = total == 0.f ? 0.f : 1.f / total;
        for (long d = 0; d < a->width; d += LANES)
            store16((global uchar *)a->dst, spec_type(), h.q + r * a->width + d,
                    h.sums[r][d / LANES] * inverse);
    }
}

// Work-groups from x on.
__attribute__((noinline)) void ze_cpu_groups_of_attention(global const struct attention_arguments *a, long x,
                                                          long y, long z, long count) {
#pragma unroll 1
    for (long item = x; item < x + count; ++item)
        switch (spec_rows()) {
        case 1:
            attend(1, a, item);
            break;
        case 2:
            attend(2, a, item);
            break;
        case 3:
            attend(3, a, item);
            break;
        case 4:
            attend(4, a, item);
            break;
        }
}

__attribute__((reqd_work_group_size(1, 1, 1), vec_type_hint(float16))) kernel void
attention(struct attention_arguments a) {
    ze_cpu_groups_of_attention((global const struct attention_arguments *)(ulong)&a, get_global_id(0), 0, 0,
                               1);
}
