// SPDX-License-Identifier: Apache-2.0
// Transposes of 16 x 16 elements in place, r[i][j] to r[j][i], and the shuffles they are made of.
// For 32-bit elements each shuffle is one AVX512 instruction: first shuffles inside the 128-bit
// lanes, then shuffles of whole lanes.
#pragma once

#define SHUFFLE(x, y, ...) __builtin_shufflevector(x, y, __VA_ARGS__)
#define LOWER_ELEMENTS(x, y) SHUFFLE(x, y, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29)
#define UPPER_ELEMENTS(x, y) SHUFFLE(x, y, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31)
#define LOWER_PAIRS(x, y) SHUFFLE(x, y, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29)
#define UPPER_PAIRS(x, y) SHUFFLE(x, y, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31)
// In each 128-bit lane, the elements of x come before those of y.
#define EVEN_ELEMENTS(x, y) SHUFFLE(x, y, 0, 2, 16, 18, 4, 6, 20, 22, 8, 10, 24, 26, 12, 14, 28, 30)
#define ODD_ELEMENTS(x, y) SHUFFLE(x, y, 1, 3, 17, 19, 5, 7, 21, 23, 9, 11, 25, 27, 13, 15, 29, 31)
#define EVEN_LANES(x, y) SHUFFLE(x, y, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27)
#define ODD_LANES(x, y) SHUFFLE(x, y, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31)

// x and y interleaved: their first eight elements, their last eight.
#define LOWER_HALVES(x, y) SHUFFLE(x, y, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define UPPER_HALVES(x, y) SHUFFLE(x, y, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)

// Four vectors, which have each fourth element of a row, become the row.
#define DEFINE_INTERLEAVE_FOURS(T)                                                                           \
    static inline __attribute__((overloadable, always_inline)) void interleave_fours(__private T *x) {       \
        const T a = LOWER_HALVES(x[0], x[2]), b = LOWER_HALVES(x[1], x[3]);                                  \
        const T c = UPPER_HALVES(x[0], x[2]), d = UPPER_HALVES(x[1], x[3]);                                  \
        x[0] = LOWER_HALVES(a, b);                                                                           \
        x[1] = UPPER_HALVES(a, b);                                                                           \
        x[2] = LOWER_HALVES(c, d);                                                                           \
        x[3] = UPPER_HALVES(c, d);                                                                           \
    }
DEFINE_INTERLEAVE_FOURS(int16)
DEFINE_INTERLEAVE_FOURS(float16)

// Transposes 4 x 4 elements in each 128-bit lane. For each four of `rows` rows (at most 16),
// r[4 * i + j] becomes columns j, j + 4, j + 8 and j + 12 of rows 4 * i .. 4 * i + 3, one column in
// each lane.
#define DEFINE_TRANSPOSE_FOURS(T)                                                                            \
    static inline __attribute__((overloadable, always_inline)) void transpose_fours(__private T *r,          \
                                                                                    const int rows) {        \
        _Pragma("unroll") for (int i = 0; i < rows; i += 4) {                                                \
            const T a = LOWER_ELEMENTS(r[i], r[i + 1]), b = UPPER_ELEMENTS(r[i], r[i + 1]);                  \
            const T c = LOWER_ELEMENTS(r[i + 2], r[i + 3]), d = UPPER_ELEMENTS(r[i + 2], r[i + 3]);          \
            r[i] = LOWER_PAIRS(a, c);                                                                        \
            r[i + 1] = UPPER_PAIRS(a, c);                                                                    \
            r[i + 2] = LOWER_PAIRS(b, d);                                                                    \
            r[i + 3] = UPPER_PAIRS(b, d);                                                                    \
        }                                                                                                    \
    }
#define DEFINE_TRANSPOSE16(T)                                                                                \
    DEFINE_TRANSPOSE_FOURS(T)                                                                                \
    static inline __attribute__((overloadable)) void transpose16(__private T *r) {                           \
        transpose_fours(r, 16);                                                                              \
        _Pragma("unroll") for (int j = 0; j < 4; ++j) {                                                      \
            const T even_above = EVEN_LANES(r[j], r[j + 4]), even_below = EVEN_LANES(r[j + 8], r[j + 12]);   \
            const T odd_above = ODD_LANES(r[j], r[j + 4]), odd_below = ODD_LANES(r[j + 8], r[j + 12]);       \
            r[j] = EVEN_LANES(even_above, even_below);                                                       \
            r[j + 4] = EVEN_LANES(odd_above, odd_below);                                                     \
            r[j + 8] = ODD_LANES(even_above, even_below);                                                    \
            r[j + 12] = ODD_LANES(odd_above, odd_below);                                                     \
        }                                                                                                    \
    }
DEFINE_TRANSPOSE16(int16)
DEFINE_TRANSPOSE16(uint16)
DEFINE_TRANSPOSE16(ushort16)

// The first row of two in vector i of transpose_pairs(). The other one is four rows below.
static inline int first_of_pair(int i) {
    return (i & 3) + 2 * (i & 4);
}

// Transposes 16 x 8 elements, with two rows in a vector. For i < 4, r[i] has rows i and i + 4, and
// r[4 + i] has rows 8 + i and 12 + i. r[j] becomes column j.
static inline void transpose_pairs(__private int16 *r) {
    transpose_fours(r, 8);
#pragma unroll
    for (int j = 0; j < 4; ++j) {
        const int16 even = EVEN_LANES(r[j], r[j + 4]);
        r[j + 4] = ODD_LANES(r[j], r[j + 4]);
        r[j] = even;
    }
}

// For products whose lanes are neighbours along K: element j is the sum of all elements of lanes[j].
#define DEFINE_SUMS_OF_LANES(T)                                                                              \
    static inline __attribute__((overloadable)) T sums_of_lanes(__private const T *lanes) {                  \
        T pairs[8], fours[4];                                                                                \
        _Pragma("unroll") for (int j = 0; j < 8; ++j) pairs[j] =                                             \
            EVEN_ELEMENTS(lanes[2 * j], lanes[2 * j + 1]) + ODD_ELEMENTS(lanes[2 * j], lanes[2 * j + 1]);    \
        _Pragma("unroll") for (int j = 0; j < 4; ++j) fours[j] =                                             \
            EVEN_ELEMENTS(pairs[2 * j], pairs[2 * j + 1]) + ODD_ELEMENTS(pairs[2 * j], pairs[2 * j + 1]);    \
        const T first = EVEN_LANES(fours[0], fours[1]) + ODD_LANES(fours[0], fours[1]);                      \
        const T last = EVEN_LANES(fours[2], fours[3]) + ODD_LANES(fours[2], fours[3]);                       \
        return EVEN_LANES(first, last) + ODD_LANES(first, last);                                             \
    }
DEFINE_SUMS_OF_LANES(int16)
DEFINE_SUMS_OF_LANES(float16)
