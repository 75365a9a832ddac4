// SPDX-License-Identifier: Apache-2.0
// Packed weights of 8-bit and 4-bit floats as the words of policy/cpu/words.h, by tables. All their values
// are exact in bf16 and in f16. The header included before this one, policy/cpu/bf16.h or policy/cpu/f16.h,
// says what the halves of a word are. The policy defines CAN_LOOK_UP: whether the CPU has the instructions.
// - 8 bits: two tables of 128 bytes have the upper and the lower byte of the half for each magnitude.
//   vpermi2b (AVX512_VBMI) looks 64 codes up. It ignores the sign, which is copied.
// - 4 bits: vpermw looks 32 codes up in a table of 32 halves. It takes the low five bits of each element
//   as the index. The table has all halves twice, so that the fifth bit makes no difference.
#pragma once

#include "arithmetic/transpose.h"
#include "policy/cpu/work_item_wei.h"

typedef uchar uchar64 __attribute__((ext_vector_type(64)));
typedef ushort ushort32 __attribute__((ext_vector_type(32)));

uchar64 __attribute__((overloadable))
vpermi2b(uchar64 low, uchar64 index, uchar64 high) __asm("llvm.x86.avx512.vpermi2var.qi.512");
ushort32 __attribute__((overloadable))
vpermw(ushort32 table, ushort32 index) __asm("llvm.x86.avx512.permvar.hi.512");

#define CONCATENATED16(x, y)                                                                                 \
    __builtin_shufflevector(x, y, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20,  \
                            21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31)
#define CONCATENATED32(x, y)                                                                                 \
    __builtin_shufflevector(x, y, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20,  \
                            21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40,  \
                            41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60,  \
                            61, 62, 63)
// The bytes of x and y in turns: the first, or the last, eight of each 128-bit lane.
#define LOWER_BYTES(x, y)                                                                                    \
    __builtin_shufflevector(x, y, 0, 64, 1, 65, 2, 66, 3, 67, 4, 68, 5, 69, 6, 70, 7, 71, 16, 80, 17, 81,    \
                            18, 82, 19, 83, 20, 84, 21, 85, 22, 86, 23, 87, 32, 96, 33, 97, 34, 98, 35, 99,  \
                            36, 100, 37, 101, 38, 102, 39, 103, 48, 112, 49, 113, 50, 114, 51, 115, 52, 116, \
                            53, 117, 54, 118, 55, 119)
#define UPPER_BYTES(x, y)                                                                                    \
    __builtin_shufflevector(x, y, 8, 72, 9, 73, 10, 74, 11, 75, 12, 76, 13, 77, 14, 78, 15, 79, 24, 88, 25,  \
                            89, 26, 90, 27, 91, 28, 92, 29, 93, 30, 94, 31, 95, 40, 104, 41, 105, 42, 106,   \
                            43, 107, 44, 108, 45, 109, 46, 110, 47, 111, 56, 120, 57, 121, 58, 122, 59, 123, \
                            60, 124, 61, 125, 62, 126, 63, 127)

// The halves of the codes from `first` on. The tables are made of these: the compiler computes them.
static inline uint16 halves_from(uint first) {
    return halves_of_codes((int16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15) + (int)first);
}

// One byte of the halves of 64 codes.
static inline uchar64 byte_table(uint first, int shift) {
    uchar16 bytes[4];
#pragma unroll
    for (int i = 0; i < 4; ++i)
        bytes[i] = convert_uchar16(halves_from(first + 16 * i) >> shift & 0xff);
    return CONCATENATED32(CONCATENATED16(bytes[0], bytes[1]), CONCATENATED16(bytes[2], bytes[3]));
}

// The words of the quads of 16 columns. Each 128-bit lane has those of four columns: words[0] of its
// first two, words[1] of the others, with elements 0 and 1 of K of a column before 2 and 3.
static inline void words_apart(vec_i quads, __private vec_i *words) {
    const uchar64 codes = __builtin_astype(quads, uchar64);
    const vec_i signs = quads & (int)0x80808080;
    const uchar64 low = vpermi2b(byte_table(0, 0), codes, byte_table(64, 0));
    const uchar64 high = __builtin_astype(
        __builtin_astype(vpermi2b(byte_table(0, 8), codes, byte_table(64, 8)), vec_i) | signs, uchar64);
    words[0] = __builtin_astype(LOWER_BYTES(low, high), vec_i);
    words[1] = __builtin_astype(UPPER_BYTES(low, high), vec_i);
}

// The four elements of each word and its neighbour as f32, where halves are bf16: value[0] and value[1]
// have the first and the second halves of words[0], value[2] and value[3] those of words[1].
static inline void look_up_pairs(vec_i quads, __private vec_f *value) {
    vec_i words[2];
    words_apart(quads, words);
    value[0] = first_of_words(words[0]);
    value[1] = second_of_words(words[0]);
    value[2] = first_of_words(words[1]);
    value[3] = second_of_words(words[1]);
}

// The words in the order of columns: words[0] has elements 0 and 1 of K, words[1] 2 and 3.
static inline void words_of_bytes(vec_i quads, __private vec_i *words) {
    vec_i apart[2];
    words_apart(quads, apart);
    words[0] = EVEN_ELEMENTS(apart[0], apart[1]);
    words[1] = ODD_ELEMENTS(apart[0], apart[1]);
}

// Makes words of quads of four bits, which are in the low halves of their elements.
static inline void words_of_nibbles(vec_i quads, __private vec_i *words) {
    const ushort16 halves = convert_ushort16(halves_from(0));
    const ushort32 table = CONCATENATED16(halves, halves);
    const vec_i codes = quads | quads << 12;
    words[0] = __builtin_astype(vpermw(table, __builtin_astype(codes, ushort32)), vec_i);
    words[1] = __builtin_astype(vpermw(table, __builtin_astype(codes >> 8, ushort32)), vec_i);
}

static inline bool wei_in_tables() {
    return CAN_LOOK_UP && wei_is_small_float();
}

// Loads four elements of K of 16 columns, from element i of packed weights on. Elements from `length` on
// become 0: in a part of a tensor they may be NaN.
static inline void look_up_quads(bytes wei, long i, int length, __private vec_i *words) {
    const int kept = length < 4 ? (1 << wei_bits() * length) - 1 : -1;
    const vec_i quads = load_packed(wei, i) & (vec_i)kept;
    if (wei_bits() == 8)
        words_of_bytes(quads, words);
    else
        words_of_nibbles(quads, words);
}

// Loads packed weights, whose block begins at element `packed`, as words: see load_words().
static inline void look_up_words(bytes wei, long packed, int length, __private vec_i *panel) {
#pragma unroll 1
    for (int k = 0; k < length; k += 4)
#pragma unroll
        for (int v = 0; v < NV; ++v) {
            vec_i words[2];
            look_up_quads(wei, packed + k * PACKED_N + v * LANES * 4, length - k, words);
            panel[k / 2 * NV + v] = words[0];
            if (k + 2 < length)
                panel[(k / 2 + 1) * NV + v] = words[1];
        }
}
