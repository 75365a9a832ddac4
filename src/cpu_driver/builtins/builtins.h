// SPDX-License-Identifier: Apache-2.0
//
// Software versions of builtins that Intel's GPUs have and the OpenCL CPU runtime lacks: sub-group
// functions, atomics and a few others. A module that imports some of them is linked with a program
// that defines exactly these. Their OpenCL C texts are in builtins/*.cl.
#pragma once

#include <string>
#include <vector>

#include "spirv/imported_function.h"

namespace ze_cpu {

/// Composes an OpenCL C program that defines those `imports` which have a software version; the
/// program is empty if none has. Returns false with a sentence in `error` if the module declares a
/// builtin with other types than its name says.
bool compose_builtins(const std::vector<ImportedFunction> &imports, std::string &program, std::string &error);

} // namespace ze_cpu
