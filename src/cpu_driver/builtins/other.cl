// SPDX-License-Identifier: Apache-2.0
//
// Builtins of one line each. One of these macros selects the builtin:
//
//   TF32            f32 to the nearest tf32, ties to even, in the form of an f32; infinities and
//                   NaN stay (REAL, BITS: float and uint vectors)
//   BLOCK_PREFETCH  prefetch of a block in one dimension: does nothing
//   LINE_PREFETCH   prefetch of what each lane points to: does nothing
//   BARRIER_ARRIVE  the whole barrier of cl_intel_split_work_group_barrier: what was written
//                   before it is visible after the wait
//   BARRIER_WAIT    does nothing, as BARRIER_ARRIVE has waited already
//   FMA_HALF        fma() of f16. The runtime's own is a hundred instructions for each lane.
//   DP4A            adds the products of four bytes each of a and b to sum: modulo 2^32, or
//                   saturated in the type SUM, int or uint (A_VALUE, B_VALUE: byte i of a and b)
//
//   SYMBOL, FUNCTION   the linker name to define, and a name for the compiler
// FMA_HALF and DP4A are not inlined, to keep build times short: a kernel calls them hundreds of times.
#if defined(TF32)
REAL FUNCTION(REAL value) __asm(SYMBOL);
__attribute__((always_inline)) REAL FUNCTION(REAL value) {
    union {
        REAL real;
        BITS bits;
    } in = {value}, out;
    out.bits = (in.bits + 0xfff + (in.bits >> 13 & 1)) & 0xffffe000;
    return (in.bits & 0x7f800000) == 0x7f800000 ? value : out.real;
}
#elif defined(BLOCK_PREFETCH)
void FUNCTION(const __global void *block) __asm(SYMBOL);
__attribute__((always_inline)) void FUNCTION(const __global void *block) {}
#elif defined(LINE_PREFETCH)
void FUNCTION(const __global uint *base, int offset, int cache) __asm(SYMBOL);
__attribute__((always_inline)) void FUNCTION(const __global uint *base, int offset, int cache) {}
#elif defined(DP4A)
int FUNCTION(int sum, int a, int b, bool saturate) __asm(SYMBOL);
__attribute__((noinline)) int FUNCTION(int sum, int a, int b, bool saturate) {
    int products = 0; // less than 2^18
    for (int i = 0; i < 4; i++)
        products += A_VALUE((uint)a, i) * B_VALUE((uint)b, i);
    return saturate ? (int)add_sat((SUM)sum, (SUM)products) : (int)((uint)sum + (uint)products);
}
#elif defined(FMA_HALF)
half FUNCTION(half a, half b, half c) __asm(SYMBOL);
__attribute__((noinline)) half FUNCTION(half a, half b, half c) {
    const float product = convert_float(a) * convert_float(b), addend = convert_float(c); // exact
    const float sum = product + addend, part = sum - product;
    const float rest = (product - (sum - part)) + (addend - part); // sum + rest is exact
    // A sum that is not exact is replaced by its odd neighbour. Rounded once more, to f16, that gives
    // what the exact sum would give.
    const uint bits = as_uint(sum);
    const bool is_away = fabs(rest) > 0.f && (bits & 1) == 0; // false for infinities and NaN
    const uint odd = (rest > 0.f) == (sum > 0.f) ? bits + 1 : bits - 1;
    return convert_half_rte(as_float(is_away ? odd : bits));
}
#elif defined(BARRIER_ARRIVE)
void FUNCTION(uint flags) __asm(SYMBOL);
__attribute__((always_inline)) void FUNCTION(uint flags) {
    work_group_barrier(flags);
}
#elif defined(BARRIER_WAIT)
void FUNCTION(uint flags) __asm(SYMBOL);
__attribute__((always_inline)) void FUNCTION(uint flags) {}
#endif
