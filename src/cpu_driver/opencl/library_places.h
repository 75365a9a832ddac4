// SPDX-License-Identifier: Apache-2.0
//
// The folders in which the driver looks for the OpenCL CPU runtime.
#pragma once

#include <filesystem>
#include <vector>

namespace ze_cpu {

/// A folder that may contain the OpenCL CPU runtime, and the prefix of the environment that it
/// belongs to.
struct Place {
    std::filesystem::path folder;
    std::filesystem::path prefix;
    bool of_linker = false; // the dynamic linker looks there, whatever environment it belongs to
};

/// The file name of the runtime.
inline constexpr const char *runtime_name = "libintelocl.so";

/// The places in the order of the search: this library's environment, the active virtual
/// environment, the program's environment, the system. All paths are absolute; none need exist.
std::vector<Place> library_places();

} // namespace ze_cpu
