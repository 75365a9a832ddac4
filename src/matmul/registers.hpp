// SPDX-License-Identifier: Apache-2.0
// The registers of a GPU's thread whose sub-group owns a tile.
#pragma once

#include "matmul/facts.hpp"

namespace zemm::matmul {

// How many the row needs: sums of the tile, where segments are scaled those of eight rows of a column that
// are not yet, a panel of weights, eight rows of src, and what else there is. The panel is known.
int registers_of(const facts &f);
// Whether a panel of full length leaves too few for zero points.
bool has_zero_points_beside(const facts &f);

} // namespace zemm::matmul
