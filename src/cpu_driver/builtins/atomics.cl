// SPDX-License-Identifier: Apache-2.0
//
// OpenCL C 1.x atomics for the address spaces and types that the OpenCL runtime lacks. The runtime
// turns SPIR-V's atomic instructions into calls of these functions (a load adds 0, a store
// exchanges). The calls do not carry the memory order, so all are sequentially consistent.
//
//   SYMBOL, FUNCTION         the linker name to define, and a name for the compiler
//   VALUE, SPACE             type and address space of what the pointer points to
//   BITS, AS_VALUE, AS_BITS  the unsigned integer of the same size, and bitwise conversions
//
// One of these macros selects the operation:
//
//   STEP      adds its value, 1 or -1
//   FETCH     calls its value, clang's atomic builtin for an integer and an operand
//   COMBINE   replaces a float by COMBINE(old value, operand); IS_SUM: that is a sum
//   EXCHANGE  stores the operand
//   COMPARE   stores `value` if the old value is `expected`
#if defined(STEP)
VALUE FUNCTION(volatile SPACE VALUE *p) __asm(SYMBOL);
__attribute__((always_inline)) VALUE FUNCTION(volatile SPACE VALUE *p) {
    return __atomic_fetch_add(p, (VALUE)STEP, __ATOMIC_SEQ_CST);
}
#elif defined(COMPARE)
VALUE FUNCTION(volatile SPACE VALUE *p, VALUE expected, VALUE value) __asm(SYMBOL);
__attribute__((always_inline)) VALUE FUNCTION(volatile SPACE VALUE *p, VALUE expected, VALUE value) {
    __atomic_compare_exchange_n(p, &expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    return expected;
}
#else
VALUE FUNCTION(volatile SPACE VALUE *p, VALUE operand) __asm(SYMBOL);
__attribute__((always_inline)) VALUE FUNCTION(volatile SPACE VALUE *p, VALUE operand) {
#if defined(FETCH)
    return FETCH(p, operand, __ATOMIC_SEQ_CST);
#elif defined(EXCHANGE)
    return AS_VALUE(__atomic_exchange_n((volatile SPACE BITS *)p, AS_BITS(operand), __ATOMIC_SEQ_CST));
#else
    volatile SPACE BITS *bits = (volatile SPACE BITS *)p;
    BITS old = __atomic_load_n(bits, __ATOMIC_SEQ_CST), combined;
    // The runtime loads by adding 0. A load must not write: the sum of -0 and 0 is another number.
    if (IS_SUM && AS_BITS(operand) == 0)
        return AS_VALUE(old);
    do
        combined = AS_BITS(COMBINE(AS_VALUE(old), operand));
    while (!__atomic_compare_exchange_n(bits, &old, combined, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
    return AS_VALUE(old);
#endif
}
#endif
