// SPDX-License-Identifier: Apache-2.0
// Packs weights into the blocks of reorder_pack.cl on GPUs. Each work-item has a column, so
// neighbours write neighbouring units and no data moves between lanes. Of 2-bit elements it has the four
// columns that share bytes. Any strides.
#include "reorder/reorder_pack.h"

#define BLOCK_LENGTH (PACK_K * unit()) // elements of a column in a block

// Stores a unit. dst: the column's first unit; i: which unit.
static inline void store_unit(global uchar *dst, int i, uint value) {
    if (spec_bits() == 4 || spec_bits() == 16)
        ((global ushort *)dst)[i] = (ushort)value;
    else
        ((global uint *)dst)[i] = value;
}

// Packs a column of a whole block of a src that is contiguous along K: its units are already in
// memory as dst needs them.
static inline void move_units(bytes src, global uchar *dst, int columns) {
    if (spec_bits() == 4 || spec_bits() == 16) {
        const ushort16 units = vload16(0, (global const ushort *)src);
#pragma unroll
        for (int i = 0; i < PACK_K; ++i)
            store_unit(dst, i * columns, units[i]);
    } else {
        const uint16 units = vload16(0, (global const uint *)src);
#pragma unroll
        for (int i = 0; i < PACK_K; ++i)
            store_unit(dst, i * columns, units[i]);
    }
}

static inline uint load_bits(bytes src, long at) {
    return spec_bits() < 8     ? (uint)load_narrow(src, spec_bits(), at)
           : spec_bits() == 8  ? src[at]
           : spec_bits() == 16 ? ((global const ushort *)src)[at]
                               : ((global const uint *)src)[at];
}

// Packs a column of a block, element by element from `at` on. there: elements until the end of K,
// at least 1; the others are 0, and all are if the column is not inside of N.
static inline void gather_units(bytes src, long at, long stride, int there, bool inside, global uchar *dst,
                                int columns) {
#pragma unroll 4
    for (int i = 0; i < PACK_K; ++i) {
        uint value = 0;
#pragma unroll
        for (int j = 0; j < unit(); ++j) {
            const int k = i * unit() + j;
            const uint element = load_bits(src, at); // the last one again past the end
            value |= k < there && inside ? element << (j * spec_bits()) : 0;
            at += k + 1 < there ? stride : 0;
        }
        store_unit(dst, i * columns, value);
    }
}

// The element k of four neighbouring columns as one byte. at: the first column's first element; `inside` of
// the columns are there, the others are 0.
static inline uint quarters_at(bytes src, global const struct pack_problem *p, long at, int k, int inside) {
    at += k * p->src_k;
    if (p->src_n == 1 && inside == 4 && is_whole_byte(DT_U2, at))
        return src[bytes_of(at)];
    uint value = 0;
    for (int n = 0; n < inside; ++n)
        value |= (uint)load_narrow(src, 2, at + n * p->src_n) << 2 * n;
    return value;
}

// Packs four columns of a block of 2-bit elements. there: elements until the end of K.
static inline void pack_quarters(bytes src, global const struct pack_problem *p, long at, int there,
                                 int inside, global uint *dst) {
    const bool moves = HAS(PACK_K_CONTIGUOUS) && there >= BLOCK_LENGTH;
    for (int i = 0; i < PACK_K; ++i) {
        uint value = 0;
        if (moves)
            for (int n = 0; n < inside; ++n)
                value |= spread((uint)src[bytes_of(at + n * p->src_n) + i]) << 2 * n;
        else
            for (int k = i * 4; k < min(i * 4 + 4, there); ++k)
                value |= quarters_at(src, p, at, k, inside) << k % 4 * 8;
        dst[i * p->columns / 4] = value;
    }
}

// Grid: columns of dst, a work-group for each block; runs of k_blocks_per_item blocks of K; the
// batch.
kernel void reorder_pack_lanes(bytes src, global uchar *dst, global const struct pack_problem *p,
                               struct reorder_arguments unused) {
    (void)unused; // all reorder kernels have the same parameters
    const struct matrices at = matrices_of(p, get_global_id(2));
    const int together = PACK_TOGETHER(spec_bits()); // columns of a work-item
    const long column = get_global_id(0) * together;
    const int columns = p->columns;
    const int inside = (int)clamp(p->n - column, 0l, (long)together); // columns that there are
    const long from = at.src + min(column, p->n - 1) * p->src_n;
    const long to = at.dst + get_group_id(0) * p->dst_n + get_local_id(0) * together * unit();
    // Units are loaded only if they are aligned to their size, which depends on where the caller's
    // tensor begins.
    const int unit_bytes = spec_bits() == 4 || spec_bits() == 16 ? 2 : 4;
    const bool can_move = HAS(PACK_K_CONTIGUOUS) && (ulong)src % unit_bytes == 0;
    const long begin = (long)get_global_id(1) * p->k_blocks_per_item;
    const long end = min(begin + p->k_blocks_per_item, p->k_blocks);
    for (long block = begin; block < end; ++block) {
        const long k = block * BLOCK_LENGTH, first = from + k * p->src_k;
        const int there = (int)min(p->k - k, (long)BLOCK_LENGTH);
        global uchar *out = dst + bytes_of(to + block * p->dst_k);
        if (spec_bits() == 2)
            pack_quarters(src, p, first, there, inside, (global uint *)out);
        else if (can_move && inside && there == BLOCK_LENGTH)
            move_units(src + bytes_of(first), out, columns);
        else
            gather_units(src, first, p->src_k, there, inside, out, columns);
    }
}
