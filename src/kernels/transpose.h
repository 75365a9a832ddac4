// SPDX-License-Identifier: Apache-2.0
// Transposes 16 x 16 elements in place: r[i][j] becomes r[j][i].
#pragma once

// Exchanges the upper right and the lower left quarter of each block of 2S x 2S elements.
#define TRANSPOSE_STAGE(S)                                                                                   \
    _Pragma("unroll") for (int i = 0; i < 16; ++i) {                                                         \
        if ((i & S) == 0) {                                                                                  \
            const __typeof__(r[0]) first = r[i], second = r[i + S];                                          \
            r[i] = SHUFFLE_FIRST_##S(first, second);                                                         \
            r[i + S] = SHUFFLE_SECOND_##S(first, second);                                                    \
        }                                                                                                    \
    }
#define SHUFFLE_FIRST_1(x, y)                                                                                \
    __builtin_shufflevector(x, y, 0, 16, 2, 18, 4, 20, 6, 22, 8, 24, 10, 26, 12, 28, 14, 30)
#define SHUFFLE_SECOND_1(x, y)                                                                               \
    __builtin_shufflevector(x, y, 1, 17, 3, 19, 5, 21, 7, 23, 9, 25, 11, 27, 13, 29, 15, 31)
#define SHUFFLE_FIRST_2(x, y)                                                                                \
    __builtin_shufflevector(x, y, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29)
#define SHUFFLE_SECOND_2(x, y)                                                                               \
    __builtin_shufflevector(x, y, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31)
#define SHUFFLE_FIRST_4(x, y)                                                                                \
    __builtin_shufflevector(x, y, 0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27)
#define SHUFFLE_SECOND_4(x, y)                                                                               \
    __builtin_shufflevector(x, y, 4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 28, 29, 30, 31)
#define SHUFFLE_FIRST_8(x, y)                                                                                \
    __builtin_shufflevector(x, y, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23)
#define SHUFFLE_SECOND_8(x, y)                                                                               \
    __builtin_shufflevector(x, y, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31)

#define DEFINE_TRANSPOSE16(T)                                                                                \
    static inline __attribute__((overloadable)) void transpose16(__private T *r) {                           \
        TRANSPOSE_STAGE(8)                                                                                   \
        TRANSPOSE_STAGE(4)                                                                                   \
        TRANSPOSE_STAGE(2)                                                                                   \
        TRANSPOSE_STAGE(1)                                                                                   \
    }
DEFINE_TRANSPOSE16(int16)
DEFINE_TRANSPOSE16(uint16)
DEFINE_TRANSPOSE16(ushort16)
