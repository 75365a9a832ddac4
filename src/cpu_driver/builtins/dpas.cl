// SPDX-License-Identifier: Apache-2.0
//
// cl_intel_subgroup_matrix_multiply_accumulate: acc[M x LANES] + a[M x K] * b[K x LANES].
//
// Lane n has column n of b and of acc. A row of a lies in K / A_PACKED neighbouring lanes, with
// A_PACKED elements in each. If these are fewer lanes than the sub-group has, a component of `a`
// contains several rows (tf32, and the compiler's own names). Integers wrap. Floats are added to
// acc one after the other with rising k, in f32, with one rounding each.
//
//   SYMBOL, FUNCTION          the linker name to define, and a name for the compiler
//   FLAT_SYMBOL, FLAT         the same for the compiler's own name, if that is what is imported
//   M, K, LANES               the shape
//   A, A_WORD, A_WORDS        type of a, unsigned integer of its components' size, their number
//   A_PACKED, A_VALUE         elements in a component of a; element i of a component
//   B, B_PACKED, B_VALUE      type of b, elements in 32 bits of it; element i of 32 bits
//   ACC, ACC_SCALAR           type of acc, and of its components
//   SUM, MAD                  type in which sums are kept; a * b + sum
//   FROM_ACC, TO_ACC          conversions between ACC_SCALAR and SUM
ACC FUNCTION(A a, B b, ACC acc) __asm(SYMBOL);

/// Not inlined, and not unrolled completely, to keep build times short: a kernel calls it dozens of
/// times. The runtime vectorises it as it does kernels.
__attribute__((noinline)) ACC FUNCTION(A a, B b, ACC acc) {
    union {
        A vector;
        A_WORD word[A_WORDS];
    } rows = {a};
    union {
        B vector;
        uint word[K / B_PACKED];
    } column = {b};
    union {
        ACC vector;
        ACC_SCALAR scalar[M];
    } result = {acc};
    SUM sum[M];
    __attribute__((opencl_unroll_hint)) for (int m = 0; m < M; m++) sum[m] = FROM_ACC(result.scalar[m]);
#pragma nounroll
    for (int part = 0; part < K / A_PACKED; part++) {
        __attribute__((opencl_unroll_hint)) for (int m = 0; m < M; m++) {
            const int at = m * (K / A_PACKED) + part;
            const uint word = (uint)sub_group_broadcast((int)rows.word[at / LANES], at % LANES);
            __attribute__((opencl_unroll_hint)) for (int i = 0; i < A_PACKED; i++) {
                const int k = part * A_PACKED + i;
                sum[m] = MAD(A_VALUE(word, i), B_VALUE(column.word[k / B_PACKED], k % B_PACKED), sum[m]);
            }
        }
    }
    __attribute__((opencl_unroll_hint)) for (int m = 0; m < M; m++) result.scalar[m] = TO_ACC(sum[m]);
    return result.vector;
}

#ifdef FLAT
ACC FLAT(ACC acc, A a, B b) __asm(FLAT_SYMBOL);
__attribute__((always_inline)) ACC FLAT(ACC acc, A a, B b) {
    return FUNCTION(a, b, acc);
}
#endif
