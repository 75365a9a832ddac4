// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <vector>

namespace ze_cpu {

/// A folder in which the OpenCL CPU runtime may lie, and the top of the environment that the folder is part
/// of.
struct Place {
    std::filesystem::path folder;
    std::filesystem::path prefix;
};

/// Path of the shared library that this code is in; empty if the linker does not tell.
std::filesystem::path own_library();

/// In the order in which they are searched: our own environment, the active virtual environment, the
/// program's environment, the system. All are absolute; none need exist.
std::vector<Place> library_places();

} // namespace ze_cpu
