// SPDX-License-Identifier: Apache-2.0
// The layout that a format tag names: the order of the dimensions, outermost first, and the blocks inside
// them.
#pragma once

#include <string>

#include "common/memory_desc.hpp"

namespace zemm {

struct layout {
    int ndims = 0;
    int order[ZEMM_MAX_NDIMS] = {}; // dimension at each place, outermost first
    int nblks = 0;
    zemm_dims_t blks = {}; // outermost first
    zemm_dims_t idxs = {};
};

// "acb", "BA16a64b4a": throws invalid_arguments when the text is no such layout.
layout parse_layout(const char *caller, const char *tag);
std::string layout_text(const layout &l);

// Fills padded dims, strides and blocks of md (whose ndims, dims and type are set): dense in that order.
void apply_layout(const char *caller, memory_desc &md, const layout &l);
// The layout of a blocked descriptor, by its strides.
layout layout_of(const memory_desc &md);

} // namespace zemm
