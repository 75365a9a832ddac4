// SPDX-License-Identifier: Apache-2.0
#include "attention.hpp"

#include <cstring>
#include <limits>

#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__)
#define EACH_LEVEL __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#pragma GCC diagnostic ignored "-Wpsabi" // no vector is passed: all functions are inline
#else
#define EACH_LEVEL
#endif
#define INLINE __attribute__((always_inline)) inline

namespace zemm_torch {

namespace {

typedef float vec __attribute__((vector_size(64)));
typedef int32_t ints __attribute__((vector_size(64)));
constexpr int lanes = 16, vectors = 4; // vectors: of a row of v that are summed at once
constexpr float infinity = std::numeric_limits<float>::infinity();

INLINE vec load(const float *from) {
    vec x;
    std::memcpy(&x, from, sizeof x);
    return x;
}

INLINE void store(float *to, vec x) {
    std::memcpy(to, &x, sizeof x);
}

template <typename To, typename From> INLINE To bits_of(From x) {
    To y;
    std::memcpy(&y, &x, sizeof y);
    return y;
}

INLINE float sum(vec x) {
    float s[lanes];
    store(s, x);
    for (int half = lanes / 2; half; half /= 2)
        for (int i = 0; i < half; ++i)
            s[i] += s[i + half];
    return s[0];
}

// exp(x) for x <= 0, as 2^n e^f with |f| <= ln(2) / 2; 0 below -87.
INLINE vec exponential(vec x) {
    const float to_integer = 12582912; // 1.5 * 2^23
    const ints is_low = x < -87.f;
    const vec clipped = is_low ? vec{} : x, shifted = clipped * 1.44269504f + to_integer;
    const vec n = shifted - to_integer, f = clipped - n * 0.693359375f + n * 2.12194440e-4f;
    vec p = f * 1.9875691500e-4f + 1.3981999507e-3f;
    p = p * f + 8.3334519073e-3f;
    p = p * f + 4.1665795894e-2f;
    p = p * f + 1.6666665459e-1f;
    p = p * f + 5.0000001201e-1f;
    p = p * f * f + f + 1;
    const ints power = (bits_of<ints>(shifted) - bits_of<int32_t>(to_integer)) << 23;
    const vec y = bits_of<vec>(bits_of<ints>(p) + power);
    return is_low ? vec{} : x == x ? y : x;
}

// `rows` heads of q with the same k and v.
template <int rows>
INLINE void some_heads(const attention_t &a, const float *q, const float *k, const float *v,
                       const uint8_t *mask, float *y, float *scores) {
    int64_t begin = 0, end = a.tokens;
    while (mask && begin < end && !mask[end - 1])
        --end;
    while (mask && begin < end && !mask[begin])
        ++begin;
    const int64_t stride = a.tokens + lanes;
    float most[rows], inverse[rows];
    for (float &one : most)
        one = -infinity;

    for (int64_t t = begin; t < end; ++t) {
        vec dots[rows] = {};
        for (int64_t d = 0; d < a.width; d += lanes)
            for (int r = 0; r < rows; ++r)
                dots[r] += load(k + t * a.k_strides[2] + d) * load(q + r * a.width + d);
        for (int r = 0; r < rows; ++r) {
            const float score = mask && !mask[t] ? -infinity : sum(dots[r]) * a.scale;
            scores[r * stride + t] = score;
            most[r] = score > most[r] ? score : most[r];
        }
    }

    for (int r = 0; r < rows; ++r) {
        vec total = {};
        for (int i = 0; i < lanes; ++i)
            scores[r * stride + end + i] = -infinity;
        for (int64_t t = begin; t < end; t += lanes) {
            float *const at = scores + r * stride + t;
            store(at, exponential(load(at) - most[r]));
            total += load(at);
        }
        inverse[r] = begin < end ? 1 / sum(total) : 0;
    }

    for (int64_t d = 0; d < a.width; d += lanes * vectors) {
        const int64_t left = (a.width - d) / lanes;
        vec sums[rows][vectors] = {};
        for (int64_t t = begin; t < end; ++t) {
            const float *const from = v + t * a.v_strides[2] + d;
            if (left >= vectors)
                for (int i = 0; i < vectors; ++i)
                    for (int r = 0; r < rows; ++r)
                        sums[r][i] += load(from + i * lanes) * scores[r * stride + t];
            else
                for (int i = 0; i < left; ++i)
                    for (int r = 0; r < rows; ++r)
                        sums[r][i] += load(from + i * lanes) * scores[r * stride + t];
        }
        for (int i = 0; i < vectors && i < left; ++i)
            for (int r = 0; r < rows; ++r)
                store(y + r * a.width + d + i * lanes, sums[r][i] * inverse[r]);
    }
}

} // namespace

EACH_LEVEL
void attend(const attention_t &a, const float *q, const float *k, const float *v, const uint8_t *mask,
            float *y, float *scratch) {
    for (int64_t group = 0; group < a.batch * a.heads; ++group) {
        const int64_t sequence = group / a.heads, head = group % a.heads;
        const float *const keys = k + sequence * a.k_strides[0] + head * a.k_strides[1];
        const float *const values = v + sequence * a.v_strides[0] + head * a.v_strides[1];
        const uint8_t *const own = mask ? mask + sequence * a.mask_stride : nullptr;
        for (int64_t done = 0; done < a.shared;) {
            const int64_t at = (group * a.shared + done) * a.width, left = a.shared - done;
            // A lambda would not be compiled for each level.
            if (left >= 4)
                some_heads<4>(a, q + at, keys, values, own, y + at, scratch), done += 4;
            else if (left == 3)
                some_heads<3>(a, q + at, keys, values, own, y + at, scratch), done += 3;
            else if (left == 2)
                some_heads<2>(a, q + at, keys, values, own, y + at, scratch), done += 2;
            else
                some_heads<1>(a, q + at, keys, values, own, y + at, scratch), done += 1;
        }
    }
}

} // namespace zemm_torch
