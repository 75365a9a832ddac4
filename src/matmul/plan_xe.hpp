// SPDX-License-Identifier: Apache-2.0
// What is particular about plans for Intel GPUs: rows of kernels.def where a sub-group owns a tile.
#pragma once

#include "matmul/facts.hpp"
#include "matmul/plan.hpp"

namespace zemm::matmul {

// The grid: tiles of full height, K split where they do not fill the device.
void xe_cut(const split &s, const ze::device &dev, zemm_dim_t batch, plan &result);
// Elements from row to row of src, and of the weights, where they are matrices for block loads.
void xe_pitches(const facts &f, kernels::matmul_problem &block);
// FLAG_WEI_2D and the other flags of such rows.
uint32_t xe_flags(const facts &f);
kernels::src_load xe_src_load(const facts &f);
kernels::zp_term xe_zp_term(const facts &f);

} // namespace zemm::matmul
