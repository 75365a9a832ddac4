// SPDX-License-Identifier: Apache-2.0
// What the loop nest (matmul.cl) asks of the two headers below it.
//
// Each work-group computes tiles of
//
//   dst[m][n] = post_ops(bias[n] + sum over segments g of K of
//                        src_scale[m][g] * wei_scale[g][n] *
//                        sum over k in g of (src[m][k] - src_zp[m][g]) * (wei[k][n] - wei_zp[g][n]))
//
// The OWNER says who computes a tile and where it keeps it, the POLICY how a group of its rows is multiplied
// with the weights of a block of K, a panel. The build defines OWNER and POLICY, the headers' names, and the
// numbers of the row in kernels.def: TILE_M, TILE_N, TILE_K, ROWS, LANES, GROUP_X.
//
// ---- An owner defines, before the policy (owner/<owner>.h) ----
// Vectors
//   vec_f, vec_i        VEC_ROWS rows by as many columns as there are; the unit of all sums
//   column_f, _i, _l    what the columns of a vector have in common, as f32, s32, s64
//   row_f, row_i        what its rows have in common
//   to_..., as_...      their conversions, by value and by bits
//   load_column_f, store_column_f      one vector of columns of a tensor of any type
//   load_column_s32, store_column_s32  the same of s32, at a pointer
//   NV                  vectors, side by side, of the tile's TILE_N columns
//   TILE_COLUMNS        columns of one work-item, COLUMN_STEP apart; OWN_COLUMN: the first, in the tile
//   k_index, parameter_index   counts along K; elements from where a tensor of parameters begins
// Columns and rows of a tile
//   struct column_source, find_columns       where parameters of the weights lie for the tile's columns
//   load_column_scales, load_column_zero_points   those of a group of K, column_f and column_i [NV]
//   struct tile_rows, find_rows              where the tile's rows begin in src and in its parameters
//   load_block_rows                          what is loaded for all rows once a block
//   load_row_parameters                      scales, zero points, corrections of a group of rows
//   zero_point_term                          zero points of a vector times its rows' corrections
// Place
//   find_place          the tile of this owner, and its slice of K
//   SHARES_TILES        whether several owners share a tile: then all of them go to finish_slices
//   OWNER_ATTRIBUTES, OWNER_PARAMETERS, OWNER_ARGUMENTS   of the kernel, and of calls that pass them on
// Sums
//   BLOCK_K             elements of K in a block
//   SUM_BEGINS(block)   the sums of a group of rows begin at 0 in this block, else at what was carried
//   SUM_ENDS(block)     they are scaled and added to the results behind it, else carried
//   TAKES_CORRECTION(block)   zero points of the weights are taken off in it
//   VALUES_APART        elements that values_of may need
// and behind the policy (OWNER_LOOPS names the header)
//   clear_sums          sums and results before the first block
//   multiply_block      the products of a block: load_b, add_wei_sums, then multiply_rows for all groups
//   values_of           the sums over K, row by row: column_f [TILE_M][NV]
//   finish_slices       adds up the slices of a tile, and finishes it
//
// ---- A policy defines (policy/<policy>.h) ----
//   SUM_FACTOR          what sums have to be multiplied by, 1.f for most
//   WEI_SHIFT           its weights are w - WEI_SHIFT, 0 for most
//   struct wei_source, open_wei        the weights of a tile
//   panel_vec, PANEL_VECTORS           private memory for the weights of a block
//   struct b_panel, load_b             the weights of a block, there or where they lie
//   add_wei_sums        adds the sums of the panel's columns, integers only
//   struct ahead, look_ahead, prefetch_block   asks for the next block (policy/no_ahead.h: does not)
//   struct a_group, load_group         a block of a group of rows of src (policy/all_columns.h: read later)
//   AT_ONCE(count)      vectors of sums that one multiply adds to, for a group of `count` rows
//   multiply            adds the products of the group and of AT_ONCE(count) vectors of the panel, from
//                       vector v on, to isum (FLAG_INTEGER) or fsum
// for work_item also
//   ANY_ROW_COUNT       1: multiply is made for several numbers of rows up to ROWS; 0: ROWS always
//   prefetch_a, prefetch_b             ask for the next group of rows, and for a part of the next panel
//
// Most policies are a few lines over another: policy/int8.h wants DOT, a dot product of four bytes,
// policy/fma.h nothing, policy/xe_multiply.h dpas.
#pragma once

#include "tile.h"

// Of the nest, for OWNER_LOOPS: the products of `count` rows from row i0 of the tile on, over one block.
static inline __attribute__((always_inline)) void
multiply_rows(const int count, int i0, bytes src, global const struct matmul_problem *p,
              __private struct tile *t, __private const struct row_parameters *parameters,
              const struct k_block *block, struct b_panel b);
