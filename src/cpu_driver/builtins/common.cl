// SPDX-License-Identifier: Apache-2.0
//
// Shared by the software versions of Intel's builtins. builtins.cpp puts this text first. For each
// imported builtin it then adds the macros of the builtin and the text of its family.

/// ze_<type>(word, i) is element i of those packed in `word`, in the type in which it is
/// multiplied. Element 0 is in the lowest bits.
inline int ze_i8(uint word, int i) {
    return (int)(word << (24 - 8 * i)) >> 24;
}
inline int ze_u8(uint word, int i) {
    return (word >> 8 * i) & 0xff;
}
inline int ze_i4(uint word, int i) {
    return (int)(word << (28 - 4 * i)) >> 28;
}
inline int ze_u4(uint word, int i) {
    return (word >> 4 * i) & 0xf;
}
inline int ze_i2(uint word, int i) {
    return (int)(word << (30 - 2 * i)) >> 30;
}
inline int ze_u2(uint word, int i) {
    return (word >> 2 * i) & 3;
}
inline float ze_f16(uint word, int i) {
    return convert_float(as_half((ushort)(word >> 16 * i)));
}
inline float ze_bf16(uint word, int i) {
    return as_float(i ? word & 0xffff0000u : word << 16);
}
/// The tf32 multiplier does not see the lower 13 bits of an f32.
inline float ze_tf32(uint word, int i) {
    return as_float(word & 0xffffe000u);
}

inline int ze_mad_integer(int a, int b, int sum) {
    return (int)((uint)sum + (uint)(a * b));
}
inline float ze_mad_float(float a, float b, float sum) {
    return fma(a, b, sum);
}

inline int ze_same_integer(int value) {
    return value;
}
inline float ze_same_float(float value) {
    return value;
}
inline float ze_from_half(half value) {
    return convert_float(value);
}
inline half ze_to_half(float value) {
    return convert_half_rte(value);
}
inline float ze_from_bf16(short value) {
    return as_float((uint)(ushort)value << 16);
}
/// Rounds to nearest, ties to even. NaN stays NaN.
inline short ze_to_bf16(float value) {
    const uint bits = as_uint(value);
    return isnan(value) ? (short)(bits >> 16 | 0x40) : (short)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/// A matrix in memory, and where in it a block begins. The borders are relative to the first
/// element of the block: left and right in bytes, top and bottom in rows.
struct ze_matrix {
    __global uchar *first;
    long pitch;                    // of the block
    long left, right, top, bottom; // borders of the matrix
};
inline struct ze_matrix ze_matrix_at(__global void *base, int width, int height, int pitch, int2 coord,
                                     int size) {
    // These values are the same in all lanes. Saying so with broadcasts spares the compiler
    // gathers.
    const long p = sub_group_broadcast(pitch, 0), x = (long)sub_group_broadcast(coord.x, 0) * size;
    const long y = sub_group_broadcast(coord.y, 0);
    __global uchar *first = (__global uchar *)sub_group_broadcast((ulong)base, 0) + y * p + x;
    struct ze_matrix matrix = {
        first, p, -x, sub_group_broadcast(width, 0) - x, -y, sub_group_broadcast(height, 0) - y};
    return matrix;
}
inline bool ze_is_inside(const __private struct ze_matrix *m, int row, int column, int size) {
    return column >= m->left && column + size <= m->right && row >= m->top && row < m->bottom;
}
