// SPDX-License-Identifier: Apache-2.0
// Refusals that primitives of every kind share: valid tensors that no kernel takes yet are unimplemented.
#pragma once

#include "common/memory_desc.hpp"

namespace zemm {

// name: of the tensor, in the sentence.
void refuse_sparse(const char *name, const memory_desc &md);
void refuse_runtime(const char *name, const memory_desc &md);
// A dst with stride 0, where several elements would be written to one place; elements: what they are called.
void refuse_shared_places(const memory_desc &dst, const char *elements);

} // namespace zemm
