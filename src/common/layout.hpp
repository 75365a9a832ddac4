// SPDX-License-Identifier: Apache-2.0
// The layout that a format tag names: the order of the dimensions, outermost first, and their inner
// blocks.
#pragma once

#include <string>

#include "common/memory_desc.hpp"

namespace zemm {

struct layout {
    int ndims = 0;
    int order[ZEMM_MAX_NDIMS] = {}; // order[0] is the outermost dimension
    int nblks = 0;
    zemm_dims_t blks = {}; // sizes of the inner blocks, outermost first
    zemm_dims_t idxs = {}; // the dimension of each block
};

// Parses a tag such as "acb" or "BA16a64b4a". Throws invalid_arguments if it is not one.
layout parse_layout(const char *caller, const char *tag);
std::string layout_text(const layout &l);

// Gives md, whose ndims, dims and type are set, a dense layout: fills the padded dims, the strides
// and the inner blocks.
void apply_layout(const char *caller, memory_desc &md, const layout &l);
// The layout of a blocked descriptor. The order of the dimensions is that of their strides.
layout layout_of(const memory_desc &md);

} // namespace zemm
