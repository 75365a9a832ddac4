// SPDX-License-Identifier: Apache-2.0
//
// The OpenCL runtime beside another TBB. The runtime's threads come from its libtbb.so.12. If the
// process has another library of that name, or one whose functions are visible to all libraries, the
// dynamic linker binds the runtime to that one, which lacks functions or behaves in another way. Then
// the driver loads copies of libintelocl.so and libtbb.so.12, made on this machine for this user, in
// which the library and its functions have names of their own.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "trust/trust.h"

namespace ze_cpu {

/// The file name of the runtime's TBB.
inline constexpr const char *tbb_name = "libtbb.so.12";

/// Whether the runtime would not work in the folder: it creates no context if a name above it has a space.
bool has_space(const std::filesystem::path &folder);

/// The file of a TBB in the process that is not the runtime's `own`; empty if there is none.
std::filesystem::path foreign_tbb(const std::filesystem::path &own);

/// Calls `use` with the path of the copy of the runtime and its TBB in each folder in which one can be made,
/// until it returns true. Returns false if it never did; `problems` says where no copy could be made, and
/// why.
bool with_private_copy(const std::filesystem::path &runtime, const std::filesystem::path &tbb,
                       const trust::Trust &trust,
                       const std::function<bool(const std::filesystem::path &)> &use, std::string &problems);

} // namespace ze_cpu
