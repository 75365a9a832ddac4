// SPDX-License-Identifier: Apache-2.0
//
// cl_intel_subgroup_2d_block_io: COUNT blocks side by side, each of HEIGHT rows and WIDTH columns.
// The matrix has `height` rows of `width` bytes, which are `pitch` bytes apart. The first block
// begins at element `coord` (column, row). Elements outside of the matrix read as 0 and are not
// written. All lanes of the sub-group, LANES of them, pass the same arguments. Any alignment will
// do.
//
//   SYMBOL, FUNCTION      the linker name to define, and a name for the compiler
//   WIDTH, HEIGHT, COUNT  the shape
//   ELEMENT               type of an element, an unsigned integer
//   VALUE                 type of a lane's values, an unsigned integer; if it holds several
//                         elements, the first is in the lowest bits
//   TRANSFORM, TRANSPOSE, WRITE, PREFETCH   one of them, or none for a plain read
//
// Not inlined, to keep build times short: a kernel calls it dozens of times.
#define LANES 16

// A value of a lane consists of PARTS elements. Element j of value i is at ROW(i, j) and
// COLUMN(i, j) of the blocks.
#ifdef TRANSPOSE
#define PARTS 1
#define VALUES (WIDTH * HEIGHT / LANES)
#define ROW(i, j) ((i) % (HEIGHT / LANES) * LANES + lane)
#define COLUMN(i, j) ((i) / (HEIGHT / LANES))
#elif defined(TRANSFORM)
#define PARTS ((int)(sizeof(VALUE) / sizeof(ELEMENT)))
#define VALUES (COUNT * HEIGHT / PARTS)
#define ROW(i, j) ((i) % (HEIGHT / PARTS) * PARTS + (j))
#define COLUMN(i, j) ((i) / (HEIGHT / PARTS) * WIDTH + lane)
#else
#define PARTS ((int)(sizeof(VALUE) / sizeof(ELEMENT)))
#define ROW_LANES (WIDTH / PARTS)                         // lanes that hold a row
#define ROUNDS ((HEIGHT * ROW_LANES + LANES - 1) / LANES) // values of a lane for a block
#define VALUES (COUNT * ROUNDS)
#define ROW(i, j) ((i) % ROUNDS * (LANES / ROW_LANES) + lane / ROW_LANES)
#define COLUMN(i, j) ((i) / ROUNDS * WIDTH + lane % ROW_LANES * PARTS + (j))
#endif

#ifdef PREFETCH
void FUNCTION(__global void *base, int width, int height, int pitch, int2 coord) __asm(SYMBOL);
__attribute__((always_inline)) void FUNCTION(__global void *base, int width, int height, int pitch,
                                             int2 coord) {}
#else
void FUNCTION(__global void *base, int width, int height, int pitch, int2 coord,
              __private VALUE *values) __asm(SYMBOL);
__attribute__((noinline)) void FUNCTION(__global void *base, int width, int height, int pitch, int2 coord,
                                        __private VALUE *values) {
    const int lane = get_sub_group_local_id();
    const struct ze_matrix matrix = ze_matrix_at(base, width, height, pitch, coord, sizeof(ELEMENT));
#pragma nounroll
    for (int i = 0; i < VALUES; i++) {
#ifndef WRITE
        VALUE value = 0;
#endif
#pragma nounroll
        for (int j = 0; j < PARTS; j++) {
            const int row = ROW(i, j), column = COLUMN(i, j) * sizeof(ELEMENT);
            // A single row of 8 columns leaves half of the lanes without an element.
            const bool is_inside = row < HEIGHT && ze_is_inside(&matrix, row, column, sizeof(ELEMENT));
            struct __attribute__((packed)) unaligned {
                ELEMENT element;
            };
            __global struct unaligned *at =
                (__global struct unaligned *)(matrix.first + row * matrix.pitch + column);
#ifdef WRITE
            if (is_inside)
                at->element = (ELEMENT)(values[i] >> 8 * sizeof(ELEMENT) * j);
#else
            if (is_inside)
                value |= (VALUE)((VALUE)at->element << 8 * sizeof(ELEMENT) * j);
#endif
        }
#ifndef WRITE
        values[i] = value;
#endif
    }
}
#endif

#undef LANES
#undef PARTS
#undef VALUES
#undef ROW
#undef COLUMN
#undef ROW_LANES
#undef ROUNDS
