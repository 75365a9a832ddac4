// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "module_unit.h"

namespace ze_cpu {

/// Whether an exported function, and what it calls, does without the work-item that it runs for. Only such
/// ones may be called by pointer: the runtime hands work-items to functions in ways that differ from program
/// to program, and in kernels that it has vectorised it mixes them up.
bool ignores_work_item(const Unit &unit, const std::string &function);

} // namespace ze_cpu
