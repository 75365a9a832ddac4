// SPDX-License-Identifier: Apache-2.0
// Packs plain weights [.., K, N] on CPUs, without conversion, into blocks
//   [N / columns][K / (PACK_K units)][PACK_K][columns][unit]
// with zeros past the ends: BA16a64b for elements of 16 and 32 bits, BA16a64b4a for 4 and 8 bits, and
// BA16a16b4a4b for 2 bits, where four columns share the bytes of a unit.
#include "arithmetic/transpose.h"
#include "reorder/reorder_pack.h"
#include "reorder/work_groups.h"

// pack_columns() for 2-bit elements: a column has its elements of K side by side in a byte.
static inline void pack_columns_of_quarters(bytes src, long stride, global uchar *dst, int columns) {
    for (int n = 0; n < columns; n += 64) {
        uint16 v[16]; // for each four columns the units along K
#pragma unroll 1
        for (int i = 0; i < 16; ++i) {
            bytes column = src + (n + 4 * i) * stride;
            v[i] = 0;
            for (int j = 0; j < 4; ++j)
                v[i] |= spread(convert_uint16(vload16(0, column + j * stride))) << 2 * j;
        }
        transpose16(v);
#pragma unroll
        for (int i = 0; i < PACK_K; ++i)
            vstore16(v[i], 0, (global uint *)dst + (i * columns + n) / 4);
    }
}

// Packs a whole block of a src that is contiguous along K: transposes 16 x 16 units. stride: bytes
// from column to column of src.
static inline void pack_columns(bytes src, long stride, global uchar *dst, int columns) {
    if (spec_bits() == 2) {
        pack_columns_of_quarters(src, stride, dst, columns);
        return;
    }
    for (int n = 0; n < columns; n += 16) {
        if (spec_bits() == 4 || spec_bits() == 16) {
            ushort16 v[16];
#pragma unroll
            for (int i = 0; i < 16; ++i)
                v[i] = vload16(0, (global const ushort *)(src + (n + i) * stride));
            transpose16(v);
#pragma unroll
            for (int i = 0; i < PACK_K; ++i)
                vstore16(v[i], 0, (global ushort *)dst + i * columns + n);
        } else {
            uint16 v[16];
#pragma unroll
            for (int i = 0; i < 16; ++i)
                v[i] = vload16(0, (global const uint *)(src + (n + i) * stride));
            transpose16(v);
#pragma unroll
            for (int i = 0; i < PACK_K; ++i)
                vstore16(v[i], 0, (global uint *)dst + i * columns + n);
        }
    }
}

// The bytes i of four rows as 16 units.
static inline uint16 units_of_bytes(bytes p, long stride) {
    return convert_uint16(vload16(0, p)) | convert_uint16(vload16(0, p + stride)) << 8 |
           convert_uint16(vload16(0, p + 2 * stride)) << 16 |
           convert_uint16(vload16(0, p + 3 * stride)) << 24;
}

// Packs a whole block of a src that is contiguous along N. stride: bytes from row to row of src.
static inline void pack_rows(bytes src, long stride, global uchar *dst, int columns) {
    for (int k = 0; k < PACK_K; ++k) {
        bytes row = src + (long)k * unit() * stride;
        if (spec_bits() == 2) {
            for (int n = 0; n < columns; n += 64)
                vstore16(units_of_bytes(row + n / 4, stride), 0, (global uint *)dst + (k * columns + n) / 4);
            continue;
        }
        for (int n = 0; n < columns; n += 16) {
            const long to = (long)k * columns + n;
            switch (spec_bits()) {
            case 4: {
                const ushort16 v = convert_ushort16(load_4_bits16(row, n)) |
                                   convert_ushort16(load_4_bits16(row + stride, n)) << (ushort16)4 |
                                   convert_ushort16(load_4_bits16(row + 2 * stride, n)) << (ushort16)8 |
                                   convert_ushort16(load_4_bits16(row + 3 * stride, n)) << (ushort16)12;
                vstore16(v, 0, (global ushort *)dst + to);
                break;
            }
            case 8:
                vstore16(units_of_bytes(row + n, stride), 0, (global uint *)dst + to);
                break;
            case 16:
                vstore16(vload16(0, (global const ushort *)row + n), 0, (global ushort *)dst + to);
                break;
            case 32:
                vstore16(vload16(0, (global const uint *)row + n), 0, (global uint *)dst + to);
                break;
            }
        }
    }
}

// Packs a block that reaches past the end of K or N. first: offset of the block's first element in
// src; k_left, n_left: elements of K and N from there to the ends.
static inline void pack_edge(bytes src, long first, global const struct pack_problem *p, global uchar *dst,
                             long k_left, long n_left) {
    for (int k = 0; k < PACK_K * unit(); ++k)
        for (int n = 0; n < p->columns; ++n) {
            const long from = first + k * p->src_k + n * p->src_n;
            const int together = PACK_TOGETHER(spec_bits());
            const long to = ((long)(k / unit()) * p->columns + n / together * together) * unit() +
                            k % unit() * together + n % together;
            const bool inside = k < k_left && n < n_left;
            if (spec_bits() < 8)
                store_narrow(dst, spec_bits(), to, inside ? load_narrow(src, spec_bits(), from) : 0);
            switch (spec_bits()) {
            case 8:
                dst[to] = inside ? src[from] : 0;
                break;
            case 16:
                ((global ushort *)dst)[to] = inside ? ((global const ushort *)src)[from] : 0;
                break;
            case 32:
                ((global uint *)dst)[to] = inside ? ((global const uint *)src)[from] : 0;
                break;
            }
        }
}

// Grid: blocks of N; runs of k_blocks_per_item blocks of K; the batch.
static inline void pack_blocks(bytes src, global uchar *dst, global const struct pack_problem *p,
                               const struct reorder_arguments *unused, long x, long y, long z) {
    (void)unused; // all reorder kernels have the same parameters
    const long column = x * p->columns;
    const struct matrices at = matrices_of(p, z);
    const long from = at.src + column * p->src_n, to = at.dst + x * p->dst_n;
    const long n_left = p->n - column;
    const long begin = y * p->k_blocks_per_item;
    const long end = min(begin + p->k_blocks_per_item, p->k_blocks);
    for (long block = begin; block < end; ++block) {
        const long k = block * PACK_K * unit();
        const long first = from + k * p->src_k;
        global uchar *out = dst + bytes_of(to + block * p->dst_k);
        if (p->k - k < PACK_K * unit() || n_left < p->columns)
            pack_edge(src, first, p, out, p->k - k, n_left);
        else if (HAS(PACK_K_CONTIGUOUS))
            pack_columns(src + bytes_of(first), bytes_of(p->src_n), out, p->columns);
        else
            pack_rows(src + bytes_of(first), bytes_of(p->src_k), out, p->columns);
    }
}

KERNEL_OF_WORK_GROUPS(reorder_pack, struct pack_problem, pack_blocks)
