// SPDX-License-Identifier: Apache-2.0
// How many registers of a GPU thread a row needs where a sub-group owns a tile.
#pragma once

#include "matmul/choose/facts.hpp"

namespace zemm::matmul {

// Registers for: the sums of the tile; if segments are scaled, also the unscaled sums of one group
// of rows; a panel of weights; eight rows of src; addresses and parameters. f.panel_k must be set.
int registers_of(const facts &f);
// Whether a panel of tile_k elements leaves too few registers for zero points. The panel then has
// half as many.
bool has_zero_points_beside(const facts &f);

} // namespace zemm::matmul
