// SPDX-License-Identifier: Apache-2.0
//
// The compiler's own name of a 2-D block read: sizes come less 1, and what is read is the result. The read
// itself, READ, comes before (block_2d.cl).
//
//   SYMBOL, FUNCTION   the name to define, and one for the compiler
//   READ, VALUE, VALUES, RESULT   the read, what its array is of and how many, and the vector of them
RESULT FUNCTION(long base, int width, int height, int pitch, int2 coord) __asm(SYMBOL);
__attribute__((always_inline)) RESULT FUNCTION(long base, int width, int height, int pitch, int2 coord) {
    union {
        VALUE values[VALUES];
        RESULT all;
    } result;
    READ((__global void *)base, width + 1, height + 1, pitch + 1, coord, result.values);
    return result.all;
}
