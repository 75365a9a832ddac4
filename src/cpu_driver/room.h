// SPDX-License-Identifier: Apache-2.0
//
// Whether the process may have the threads and the memory that the OpenCL runtime takes for granted:
// without threads it ends the process, and without memory it may never return.
#pragma once

#include <string>

namespace ze_cpu {

/// Tries to start this number of threads at the same time, and to reserve address space. Returns "" if
/// both work, else a sentence that says which limit is in the way.
std::string lack_of_room(unsigned threads);

} // namespace ze_cpu
