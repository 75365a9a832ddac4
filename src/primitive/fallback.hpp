// SPDX-License-Identifier: Apache-2.0
// When the driver fails to build the module of an implementation, the next
// implementation runs, with a warning, and later descriptors leave the failed one out.
#pragma once

#include "primitive/primitive_desc.hpp"

namespace zemm {

// Moves a new descriptor on to the first implementation without a failed build. Throws
// unimplemented if there is none.
void skip_failed(zemm_primitive_desc &pd);

// next_impl(), but passes over implementations that the driver failed to build before.
bool next_working_impl(zemm_primitive_desc &pd);

// Creates a primitive of pd. If the driver fails to build the implementation's module, makes a
// primitive of the next implementation that fits, with a warning; the primitive's own pd names it.
// An implementation fits if it takes pd's descriptors unchanged and needs no more of the caller's
// scratchpad, because the caller may have made weights and memories for pd already.
//
// Throws runtime_error if the implementations that are left do not fit, and the build_error if none
// is left or if another module that the implementation uses is the one that failed.
std::unique_ptr<zemm_primitive> create_primitive(const zemm_primitive_desc &pd, cache_result &found);

} // namespace zemm
