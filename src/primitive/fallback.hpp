// SPDX-License-Identifier: Apache-2.0
// What happens when the driver fails to build an implementation's module: the next one runs, with a warning,
// and later descriptors leave the failed one out.
#pragma once

#include "primitive/primitive_desc.hpp"

namespace zemm {

// For a new descriptor: moves on from implementations that failed before; unimplemented if none is left.
void skip_failed(zemm_primitive_desc &pd);

// next_impl() without those that failed before.
bool next_working_impl(zemm_primitive_desc &pd);

// pd.create(), or with a warning a primitive of the next implementation that takes pd's descriptors as they
// are and needs no more of the caller's scratchpad: weights and memory may have been made by them. Its own pd
// says which. Throws the build_error when nothing follows, or when a module that runs beside the
// implementation is the one that failed.
std::unique_ptr<zemm_primitive> create_primitive(const zemm_primitive_desc &pd, cache_result &found);

} // namespace zemm
