// SPDX-License-Identifier: Apache-2.0
//
// Which functions may be called by pointer.
#pragma once

#include <string>

#include "module_unit.h"

namespace ze_cpu {

/// Whether an exported function or a group function, with all functions that it calls, does not depend on the
/// work-item that it runs for. Only such a function may be called by pointer: how the runtime passes the
/// work-item to functions differs from program to program, and in kernels that it has vectorised it
/// mixes work-items up.
bool ignores_work_item(const Unit &unit, const std::string &function);

} // namespace ze_cpu
