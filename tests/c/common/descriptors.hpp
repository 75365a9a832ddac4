// SPDX-License-Identifier: Apache-2.0
// Shared by the tests of memory descriptors.
#pragma once

#include <algorithm>

#include "zemm_test.hpp"

// The query of an array of dimensions gives these.
inline bool is(const_zemm_memory_desc_t md, zemm_query_t what, dims_of expected) {
    return std::equal(expected.begin(), expected.end(), *queried<const zemm_dims_t *>(md, what));
}
