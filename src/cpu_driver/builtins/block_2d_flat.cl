// SPDX-License-Identifier: Apache-2.0
//
// The compiler's own name of a 2-D block read: width, height and pitch come less 1, and the values
// are the result. The read itself, READ, is defined before this text (block_2d.cl).
//
//   SYMBOL, FUNCTION   the linker name to define, and a name for the compiler
//   READ               the function that reads into an array
//   VALUE, VALUES      type and number of the array's elements
//   RESULT             type of the vector of these elements
RESULT FUNCTION(long base, int width, int height, int pitch, int2 coord) __asm(SYMBOL);
__attribute__((always_inline)) RESULT FUNCTION(long base, int width, int height, int pitch, int2 coord) {
    union {
        VALUE values[VALUES];
        RESULT all;
    } result;
    READ((__global void *)base, width + 1, height + 1, pitch + 1, coord, result.values);
    return result.all;
}
