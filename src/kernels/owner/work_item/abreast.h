// SPDX-License-Identifier: Apache-2.0
// Tiles abreast: with FLAG_ABREAST a work-item computes several neighbouring tiles of few rows. It
// multiplies a short block of K with one tile after the other, and then the next block. So it reads
// each row of weights that lie along N over many columns, one after the other in memory. A tile
// alone reads 64 bytes of each row, which hardware does not prefetch.
#pragma once

#include "owner/work_item/vectors.h"

#include "args/matmul_args.h"

// Scales, zero points and sums of the weights for the columns of a tile.
struct own_columns {
    column_i wei_zp[NV], wei_sum[NV];
    column_f wei_scale[NV];
};

// struct tile describes one of the tiles. The columns of the others wait here, and the sums of all
// are in tile.sum and tile.result, one tile after the other.
struct tiles_abreast {
    int at;  // the tile that is described
    long n0; // the first column of the first tile
    struct own_columns columns[MOST_ABREAST];
};
