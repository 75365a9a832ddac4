// SPDX-License-Identifier: Apache-2.0
//
// Functions of the C library that the OpenCL runtime calls, replaced by more careful ones.
#pragma once

namespace ze_cpu {

/// To be called before the first function of the runtime; `function` is any of them. From then on
/// the runtime reads no file of the current directory: it looks for its configuration (cl.cfg) there
/// first. In a set-uid program it also reads no variable of the environment. Returns false if the
/// runtime's table of imports cannot be changed.
bool guard_imports(const void *function);

} // namespace ze_cpu
