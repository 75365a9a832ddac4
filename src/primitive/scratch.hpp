// SPDX-License-Identifier: Apache-2.0
// The scratchpad of a primitive: how its launches divide it, and where it is at an execution.
#pragma once

#include <cstddef>

#include "primitive/primitive_desc.hpp"

namespace zemm {

// Deals out a scratchpad. Each buffer begins at a multiple of a cache line.
class scratch {
public:
    // Takes so many bytes. Returns their offset.
    size_t take(size_t bytes);
    size_t size() const { return size_; }

private:
    size_t size_ = 0;
};

// The descriptor of a scratchpad of size bytes that the caller passes; a zero descriptor if it passes none.
memory_desc scratchpad_md(const zemm_primitive_attr &attr, size_t size);

// The scratchpad of an execution: the library's, or the caller's; nullptr if the primitive needs none.
char *scratchpad_of(const zemm_primitive_desc &pd, ze::stream &stream, const bound_arguments &bound);

} // namespace zemm
