// SPDX-License-Identifier: Apache-2.0
// Checks that primitives of every kind share. They throw unimplemented for valid tensors that no
// kernel takes yet.
#pragma once

#include "common/memory_desc.hpp"

namespace zemm {

// name: the name of the tensor in the sentence.
void refuse_sparse(const char *name, const memory_desc &md);
void refuse_extra(const char *name, const memory_desc &md);
// Refuses a tensor with so many elements that sums of sizes and offsets could overflow.
void refuse_huge(const char *name, const memory_desc &md);
// Refuses a dst in which stride 0 puts several elements in one place. elements: what the sentence
// calls them.
void refuse_shared_places(const memory_desc &dst, const char *elements);

} // namespace zemm
