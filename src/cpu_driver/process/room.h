// SPDX-License-Identifier: Apache-2.0
//
// Whether the process may have the threads and the memory that the OpenCL runtime takes for granted:
// without threads it ends the process, and without memory it may never return.
#pragma once

#include <cstddef>
#include <string>

namespace ze_cpu {

/// Whether the process may map as many bytes of libraries, and what the runtime needs beside them.
/// Returns "", else a sentence that says which limit is in the way.
std::string lack_of_address_space(size_t bytes);

/// The same for this number of threads, which are started for a moment.
std::string lack_of_threads(unsigned wanted);

} // namespace ze_cpu
