// SPDX-License-Identifier: Apache-2.0
//
// Whether the process may have what the OpenCL runtime takes for granted: without threads it ends the
// process, without memory it may never return, and without memory for code it crashes.
#pragma once

#include <cstddef>
#include <string>

namespace ze_cpu {

// Each function returns "", else a sentence that says which limit is in the way.

/// Whether the process may map libraries of as many bytes, `written` of which are its own to write to, and
/// what the runtime needs beside them.
std::string lack_of_memory(size_t bytes, size_t written);

/// Whether this number of threads can be started. They are, for a moment.
std::string lack_of_threads(unsigned wanted);

/// Whether memory that was written may become code.
std::string lack_of_code();

/// Whether there is memory to build a module, or to load one that is built.
std::string lack_for_build(bool is_built);

/// Whether a file may become as large (ulimit -f). Where it may not, the process would get a signal.
bool may_have_file(size_t bytes);

} // namespace ze_cpu
