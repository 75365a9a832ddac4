// SPDX-License-Identifier: Apache-2.0
// The contract between the loop nest (matmul.cl) and the two headers below it: an owner and a
// policy.
//
// Each work-group computes tiles of
//
//   dst[m][n] = post_ops(bias[n] + sum over segments g of K of
//                   src_scale[m][g] * wei_scale[g][n] *
//                   sum over k in g of (src[m][k] - src_zp[m][g]) * (wei[k][n] - wei_zp[g][n]))
//
// The OWNER (owner/<owner>.h) says who computes a tile, a work-item or a sub-group, and where its
// sums are kept. The POLICY (policy/<policy>.h) is the micro-kernel: it loads operands and
// multiplies. The build defines OWNER and POLICY, the names of the headers, and the numbers of the
// row in kernels.def: TILE_M, TILE_N, TILE_K, ROWS, LANES, and for work-items GROUP_X.
//
// The nest, for each tile:
//   for each block of K                              // at most BLOCK_K elements, in one segment
//       load zero points and scales of the columns   // if they change here
//       multiply_block                               // the owner's loops (OWNER_LOOPS):
//           load_b                                   //   the weights of the block: a panel
//           add_wei_sums                             //   if src has zero points
//           for each group of up to ROWS rows        //   multiply_rows in matmul.cl:
//               load_group                           //     the rows of src
//               multiply                             //     the products
//               scale and add to the results         //     at the end of scaled segments
//   finish the rows and store them
//
// For integers (FLAG_INTEGER) the policy multiplies the values of src and weights as they are, and
// the nest subtracts the zero-point terms. For float src with integer weights, load_b itself
// subtracts the zero points of the weights.
//
// ---- What the NEST needs of an owner ----
// Vectors
//   vec_f, vec_i        VEC_ROWS rows by the columns of a vector, f32 and s32; the unit of all sums
//   column_f, _i, _l    values for the columns of a vector, f32, s32, s64; row_f, row_i: for its rows
//   to_..., as_...      conversions between them, by value and by bits
//   load_column_f, store_column_f, load_column_s32, store_column_s32   the columns of a vector of a tensor
//                       of any type, as f32; those of a vector of s32, at a pointer
//   NV                  vectors, side by side, of the tile's TILE_N columns
//   TILE_COLUMNS        columns of the tile that one work-item has; they are COLUMN_STEP apart, from
//                       OWN_COLUMN on
//   k_index, parameter_index   types of counts along K, and of element offsets into parameters
// Columns and rows of a tile
//   struct column_source, find_columns       offsets of scales or zero points of the tile's columns
//   load_column_scales, load_column_zero_points   of one group of K: column_f, column_i [NV]; the
//                       first also loads float zero points, whose bits tile.wei_zp keeps
//   struct tile_rows, find_rows              offsets of the tile's rows in src, scales, zero points
//   load_block_rows                          loads what all rows need of a block, once a block
//   load_row_parameters, load_scaling_parameters   scales, zero points, corrections of a group of rows;
//                       those that are better loaded after the products
//   zero_point_term, float_zero_points       zero points of a vector's columns times the corrections of
//                       its rows; the zero points as f32
// Place
//   find_place          the tile of this owner, and its slice of K; place_rows (tile_place.h) sets its rows
//   EACH_TILE(p, t)     the loop over the tiles of this owner: t becomes one after the other
//   OWN_TILES           members of struct tile for that
//   SUM_ROW(t, i), TILE_VALUES(t, values)    the current tile's row i in tile.sum and tile.result, and its
//                       part of values_of, of which VALUES_APART elements may be filled
//   SHARES_TILES        whether several owners share a tile; all of them then call finish_slices
//   OWNER_FUNCTION, OWNER_PARAMETERS, OWNER_ARGUMENTS   what computes a tile: the kernel, or a function of
//                       its kernels; and to pass the parameters on
//   ARGUMENTS           the address of the launch's arguments there
//   OWNER_GROUP         where it runs, for find_place
//   OWNER_KERNELS       the kernels of that function
// Sums
//   BLOCK_K             elements of K in a block
//   SUM_BEGINS(block)   true: the sums of a group of rows begin at 0; else they go on from tile.sum
//   SUM_ENDS(block)     true: they are scaled and added to tile.result; else kept in tile.sum
//   TAKES_CORRECTION(block), ENDS_WITH_TERM(block)   whether zero points of the weights are subtracted in
//                       this block; with ZP_TERM_F32, in a block where sums end
//   SUMS_ARE_BITS, SUM_BEGIN   whether s32 sums begin at SUM_BEGIN, the bits of an f32, and are read
//                       as f32; else SUM_BEGIN is 0
// Choices (owner/<owner>/choices.h), by constants of the module or by the argument block
//   HAS_SRC_SCALE(p), SCALES_ROWS, SCALES_COLUMNS, HAS_EQUAL_GROUPS(p, group), MAY_CUT_SEGMENTS,
//   IS_PARTIAL(p), SRC_SCALE_DT(p), WEI_SCALE_DT(p), WEI_ZP_DT(p), HAS_ROW_GROUPS(p), HAS_K_GROUPS(p)
//   ADDS_OFFSETS        whether offsets of the weights are added to scaled sums; else they become zero points
// OWNER_EPILOGUE names a header with
//   finish_row, store_row    bias, post-ops, scale and zero point of dst; conversion and store
// OWNER_LOOPS names a header, included after the policy, with
//   clear_sums          prepares sums and results for the first block, or for no block at all
//   multiply_block      the products of a block: load_b, add_wei_sums, multiply_rows for all groups
//   keep_float_zero_points    prepares tile.wei_zp, just loaded, for float_zero_points
//   subtract_last_terms       after the last block: what ZP_TERM_LAST leaves to the end
//   values_of           the sums over K, row by row: column_f [TILE_M][NV]
//   finish_slices       adds up the slices of a tile, finishes its rows and stores them
// Optional
//   WALK_COLUMNS(args, p, segment, t), WALK_ROWS(args, block, rows)   the next loads of scales, zero points
//                       and sums of src are those of a segment
//   ROW_OF_TILE(p, first, linear, i)   row_at(p, linear), which is i rows behind *first
//   CALLED              how functions of tensor.h are declared that need not be inlined
//
// ---- What the NEST needs of a policy ----
// A policy includes its owner's header. Rows past the end of the matrix repeat the last one. Columns past the
// end may have any value, but must not be read outside of the tensor. `length`: elements of K in the block;
// products behind it must be 0.
//   SUM_FACTOR          the nest multiplies sums by this; 1.f for most
//   WEI_SHIFT           the policy multiplies w - WEI_SHIFT instead of w; 0 for most. The nest makes up for
//                       it in the zero points
//   AT_ONCE(count)      vectors of sums that one call of multiply adds to, for `count` rows
//   struct wei_source, open_wei(wei, p, begin, n0, columns)   the weights of a tile. begin: element offset
//                       of the batch's matrix; n0: this work-item's first column; columns: how many it has
//   panel_vec, PANEL_VECTORS                 type and length of the private array for a panel
//   struct b_panel, load_b(source, p, k0, length, wei_zp, panel)   the weights of a block, from element k0
//                       of K on: in that array, or where they are in memory. wei_zp: [NV]
//   struct a_group, load_group(src, p, rows, i0, k0, a)   a block of the group of rows from row i0 of the
//                       tile on; policy/shared/all_columns.h only notes where it is
//   multiply(count, v, a, length, b, isum, fsum)   adds the products of `count` rows and the panel to
//                       AT_ONCE(count) vectors, from vector v on, of isum (FLAG_INTEGER) or of fsum: both
//                       [count / VEC_ROWS][NV]
//   struct ahead, look_ahead, prefetch_block   ask for the next block; see policy/shared/no_ahead.h
// Optional
//   EACH_PART and those beside it   columns are multiplied in parts (policy/cpu/column_parts.h)
//   QUANTIZE_ROW(src, p, args, range)   for the owner work_item: src becomes a row that is quantised once for
//                       several tiles, with its own arguments (policy/cpu/quantized_row.h)
//   BEFORE_PRODUCTS, AFTER_PRODUCTS   set up and give back what the thread needs for the products of a tile
//
// ---- What OWNERS need of a policy ----
//   add_wei_sums(b, length, sum)   sum[v] += the panel's weights, w - WEI_SHIFT, summed along K; sum:
//                       column_i [NV]. Empty for policies of floats
// and the owner work_item
//   ANY_ROW_COUNT       1: multiply is compiled for several counts of rows up to ROWS; 0: only ROWS
//   prefetch_a(src, rows, count, k0, length), prefetch_b(b, length, part, parts)   ask for the next group of
//                       rows of src; for one of `parts` parts of the next panel
// Optional, for the owner work_item
//   POLICY_BLOCK_K      elements of K in a block of the tile *t, if they may be more than TILE_K
//   POLICY_STATE, NOTE_END(t, k_end)   members of struct tile; keeps the end of the range of K there
//   PREFETCHES_DST      the tile of dst is prefetched before the products (PREFETCH_DST)
//   KEEPS_SEGMENTS      several segments are multiplied in a row (owner/work_item/segments.h). With it
//                       COLUMNS_AT_ONCE vectors of columns, owner/work_item/kept.h, and
//                       multiply_segment(count, v0, a, from, quads, b, sum), its products
//   FEW_ROWS            whether a few rows may have a loop of their own (HAS_FEW_ROWS,
//   owner/work_item/few_rows.h).
//                       With it AHEAD_K, elements of K from what is multiplied to what is prefetched; struct
//                       few_rows and open_rows, the rows of src; multiply_few_rows, the products of a segment
//   TERMS_ARE_WORDS     with KEEPS_SEGMENTS: whether terms of ZP_TERM_F32 are made in integers, by
//                       NEGATED_TERM(zp, correction) of KEPT_ZERO_POINT(zp) and KEPT_CORRECTION(sum)
//   MULTIPLIES_UNITS    products are made by tiles, of ROWS rows and half of the columns at a time
//                       (owner/work_item/units.h). With it owner/work_item/kept_units.h, and the macros of
//                       policy/amx/tiles_multiply.h
//   KEEPS_UNITS         with MULTIPLIES_UNITS: whether segments are kept and several multiplied in a row
//
// Most policies are a few lines on top of a shared one: policy/cpu/int8.h needs DOT, a dot product of
// four bytes; policy/cpu/fma.h needs nothing; policy/xe/xe_multiply.h needs dpas.
#pragma once

// Optional parts that owners need of a policy.
#ifndef KEEPS_UNITS
#define KEEPS_UNITS false
#endif
#ifndef TERMS_ARE_WORDS
#define TERMS_ARE_WORDS false
#define KEPT_ZERO_POINT(zp) as_column_i(to_column_f(zp))
#define KEPT_CORRECTION(sum) as_column_i(to_column_f(sum))
#define NEGATED_TERM(zp, correction) ((vec_i)0)
#endif
#ifndef FEW_ROWS
#define FEW_ROWS false
#define WITHOUT_FEW_ROWS
#endif
#ifndef HAS_FEW_ROWS
#define HAS_FEW_ROWS false
#endif
#ifndef POLICY_BLOCK_K
#define POLICY_BLOCK_K TILE_K
#endif
#ifndef NOTE_END
#define NOTE_END(t, k_end)
#endif
#ifndef PREFETCHES_DST
#define PREFETCH_DST(p, dst, first, first_row, t)
#endif

#include "owner/tile.h"

// Optional parts that the nest needs.
#ifndef EACH_PART
#define EACH_PART
#define PART_VECTORS(count) VECTORS(count)
#define FIRST_OF(v) v
#define SUM_OF(i) i
#define RESULT_OF(i) i
#define ROW_OF(i) i / NV
#define COLUMN_OF(i) i % NV
#endif
#ifndef WALK_COLUMNS
#define WALK_COLUMNS(args, p, segment, t)
#define WALK_ROWS(args, block, rows)
#endif
#ifndef ROW_OF_TILE
#define ROW_OF_TILE(p, first, linear, i) row_at(p, linear)
#endif
#ifndef QUANTIZE_ROW
#define QUANTIZE_ROW(src, p, args, range)
#endif
#ifndef BEFORE_PRODUCTS
#define BEFORE_PRODUCTS()
#define AFTER_PRODUCTS()
#endif

// Defined by the nest, called by OWNER_LOOPS: the products of `count` rows from row i0 of the tile
// on, over one block. src: any type, see tile_rows for where rows begin.
static inline __attribute__((always_inline, unused)) void
multiply_rows(const int count, int i0, bytes src, global const struct matmul_problem *p,
              __private struct tile *t, __private struct row_parameters *parameters,
              const struct k_block *block, struct b_panel b);
