// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace ze_cpu {

/// What the processor and the operating system can run beyond the baseline, as names of driver extensions:
/// ZEX_cpu_avx2, ZEX_cpu_avx_vnni, ZEX_cpu_avx512 (F, BW, DQ and VL), ZEX_cpu_avx512_vnni. And
/// ZEX_cpu_xe_builtins: modules may use DPAS, 2-D block loads and what else Xe kernels import, in software.
const std::vector<const char *> &isa_extensions();

} // namespace ze_cpu
