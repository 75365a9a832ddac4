// SPDX-License-Identifier: Apache-2.0
// Prefetches of the weights that the next block of K needs, while the rows of this block are multiplied.
#pragma once

#include "policy/shared/packed.h"
#include "policy/shared/prefetch.h"

static inline void prefetch_wei(bytes line, bool into_l1) {
    if (into_l1)
        prefetch_line(line);
    else
        prefetch_line_l2(line);
}

// Prefetches one of `parts` parts of the weights that follow a block in memory, into the L1 or the L2 cache.
// first: the element at which the block begins. columns: of plain weights. length: elements of K in a block.
static inline void prefetch_next_block(bytes wei, tensor plain, long first, int columns, int length, int part,
                                       int parts, bool into_l1) {
    const int bits = wei_bits(), line = 512 / bits; // elements in a cache line
    const int pieces = spec_wei_unit() == UNIT_PACKED ? length * PACKED_N / line
                       : spec_wei_unit() == UNIT_ROW  ? columns
                                                      : length;
    const int each = (pieces + parts - 1) / parts, end = min((part + 1) * each, pieces);
    for (int i = part * each; i < end; ++i)
        switch (spec_wei_unit()) {
        case UNIT_PACKED:
            prefetch_wei(wei + (first + length * PACKED_N) * bits / 8 + 64 * i, into_l1);
            break;
        case UNIT_ROW:
            for (int k = length; k < 2 * length; k += line)
                prefetch_wei(wei + (first + i * plain->column + k) * bits / 8, into_l1);
            break;
        case UNIT_COLUMN:
            for (int n = 0; n < TILE_N; n += line)
                prefetch_wei(wei + (first + (length + i) * plain->row + n) * bits / 8, into_l1);
            break;
        }
}
