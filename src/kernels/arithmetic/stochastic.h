// SPDX-License-Identifier: Apache-2.0
// Stochastic rounding, as in oneDNN, and the random numbers for it.
#pragma once

// Adds a random number to x below the digits that stay, and cuts the rest off. random: the number, in the
// bits of `dropped`, which are those of an f32 that do not stay. most, smallest: the largest and the
// smallest normal value of the result's type.
static inline float round_at_random(float x, uint random, uint dropped, float most, float smallest) {
    const float cut = as_float((as_uint(x) + random) & ~dropped);
    const float rounded = clamp(cut, -most, most);
    if (isnan(x))
        return x;
    return rounded != 0.f && fabs(rounded) < smallest ? 0.f : rounded;
}

// Philox4x32-10 (Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", 2011), with the counters
// and keys that oneDNN gives it.
static inline uint4 philox(uint4 counter, uint2 key) {
    for (int round = 0; round < 10; ++round) {
        const uint2 factor = (uint2)(0xd2511f53, 0xcd9e8d57), by = counter.s02;
        const uint2 high = mul_hi(factor, by), low = factor * by;
        counter = (uint4)(high.y ^ counter.y ^ key.x, low.y, high.x ^ counter.w ^ key.y, low.x);
        key += (uint2)(0x9e3779b9, 0xbb67ae85);
    }
    return counter;
}

// The numbers of the four elements from 4 * (i / 4) on, for a 64-bit seed and offset.
static inline uint4 random_wide(ulong i, ulong seed, ulong offset) {
    return philox((uint4)((uint)offset, (uint)(offset >> 32), (uint)i & ~3u, (uint)(i >> 32)),
                  as_uint2(seed));
}

// The number that the four elements from 4 * (i / 4) on share, for a 32-bit seed.
static inline uint random_narrow(uint i, uint seed) {
    const uint x = i & ~3u;
    return philox((uint4)(x, x + 1, x, x + 3), (uint2)(seed, seed)).z;
}

static inline uint lane(uint4 numbers, ulong i) {
    const uint2 pair = i & 2 ? numbers.hi : numbers.lo;
    return i & 1 ? pair.y : pair.x;
}
