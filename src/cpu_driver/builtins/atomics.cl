// SPDX-License-Identifier: Apache-2.0
//
// OpenCL C 1.x atomics for address spaces and types that the OpenCL runtime lacks. It makes calls of them
// from the atomic instructions of SPIR-V (a load adds 0, a store is an exchange), of whose order it says
// nothing: all are sequentially consistent.
//
//   SYMBOL, FUNCTION         the name to define, and one for the compiler
//   VALUE, SPACE             what the pointer points to, and where that is
//   BITS, AS_VALUE, AS_BITS  the unsigned integer of the same size, and conversions bit by bit
//
// and one of these:
//
//   STEP      1 or -1: the integer to add
//   FETCH     clang's builtin for an integer and an operand
//   COMBINE   what a float and an operand become (IS_SUM: their sum)
//   EXCHANGE
//   COMPARE
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
    // A load writes nothing: the sum of -0 and 0 is another number.
    if (IS_SUM && AS_BITS(operand) == 0)
        return AS_VALUE(old);
    do
        combined = AS_BITS(COMBINE(AS_VALUE(old), operand));
    while (!__atomic_compare_exchange_n(bits, &old, combined, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
    return AS_VALUE(old);
#endif
}
#endif
