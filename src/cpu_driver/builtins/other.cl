// SPDX-License-Identifier: Apache-2.0
//
// Builtins of one line each; one of these macros says which:
//
//   TF32            f32 to the nearest tf32, ties to even, in the form of an f32; infinities and NaN stay
//                   (REAL, BITS: float and uint vectors)
//   BLOCK_PREFETCH  of a block in one dimension: nothing to do
//   LINE_PREFETCH   of what each lane points to: nothing to do
//   BARRIER_ARRIVE  all of the work-group's barrier (cl_intel_split_work_group_barrier): what was written
//                   before is visible behind the wait, which has nothing left to do
//   BARRIER_WAIT
//   DP4A            the products of four bytes each of a and b, added to sum: modulo 2^32, or cut to what
//   SUM,
//                   int or uint, holds (A_VALUE, B_VALUE: byte i of a and b)
//
//   SYMBOL, FUNCTION   the name to define, and one for the compiler
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
__attribute__((always_inline)) int FUNCTION(int sum, int a, int b, bool saturate) {
    int products = 0; // 2^18 at most
    for (int i = 0; i < 4; i++)
        products += A_VALUE((uint)a, i) * B_VALUE((uint)b, i);
    return saturate ? (int)add_sat((SUM)sum, (SUM)products) : (int)((uint)sum + (uint)products);
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
