// SPDX-License-Identifier: Apache-2.0
//
// CPU features as names of driver extensions.
#pragma once

#include <vector>

namespace ze_cpu {

/// Features of the processor and the operating system beyond the baseline, as names of driver
/// extensions: ZEX_cpu_<name> for CPU rows of lists/isa.def. Those of AMX only if this process may use the
/// tiles: the first call asks for that.
/// ZEX_cpu_xe_builtins is always there: modules may import DPAS, 2-D block reads and the other builtins
/// of Xe kernels, and get software versions.
const std::vector<const char *> &isa_extensions();

} // namespace ze_cpu
