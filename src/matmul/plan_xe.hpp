// SPDX-License-Identifier: Apache-2.0
// What is particular about plans for Intel GPUs with XMX: rows of kernels.def where a sub-group owns a tile.
#pragma once

#include "matmul/dispatch.hpp"
#include "matmul/plan.hpp"

namespace zemm::matmul {

// Bytes of which the place of a tensor has to be a multiple for block loads.
constexpr size_t block_load_alignment = 4;

// Whether the row reads blocks in one dimension: there are no others, or it takes single elements of src.
bool loads_1d(const kernel_row &row);
// Whether 2-D block loads can read src, and the weights; else they are read element by element.
bool reads_src_2d(const problem &p);
bool reads_wei_2d(const problem &p);
// Whether block loads in one dimension can read src.
bool reads_src_1d(const problem &p);
// Rows of one matrix of src: M, or the whole batch's, where they share the weights and lie at one distance
// from each other.
zemm_dim_t xe_rows(const problem &p);
// Whether f32 becomes sums of two bf16, as the fpmath mode wants more digits than one has; how many products
// of bf16 that makes of one, or 1.
bool splits_f32(const problem &p, const kernel_row &row);
int products_of_one(const problem &p, const kernel_row &row);
// Elements of K in a panel: the most steps of a DPAS that divide a segment; panels in a block.
int xe_panel_k(const problem &p, const kernel_row &row);
int xe_panels(const problem &p, const kernel_row &row);
// The grid: tiles of full height, K split where they do not fill the device.
void xe_cut(const split &s, const ze::device &dev, zemm_dim_t batch, plan &result);
// Elements from row to row of src, and of the weights, where they are matrices for block loads.
void xe_pitches(const problem &p, kernels::matmul_problem &block);
// FLAG_WEI_2D and the other flags of such rows; block: of the problem.
uint32_t xe_flags(const problem &p, const kernel_row &row, const kernels::matmul_problem &block);
kernels::src_load xe_src_load(const problem &p, const kernel_row &row);
kernels::zp_term xe_zp_term(const problem &p, const kernel_row &row);

} // namespace zemm::matmul
