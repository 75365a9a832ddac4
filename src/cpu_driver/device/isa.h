// SPDX-License-Identifier: Apache-2.0
//
// CPU features as names of driver extensions.
#pragma once

#include <vector>

namespace ze_cpu {

/// What the processor and the operating system support beyond the baseline, as names of driver
/// extensions: ZEX_cpu_avx2, ZEX_cpu_avx_vnni, ZEX_cpu_avx512 (F, BW, DQ and VL),
/// ZEX_cpu_avx512_vnni, ZEX_cpu_avx512_bf16, and ZEX_cpu_amx_int8, ZEX_cpu_amx_bf16 and
/// ZEX_cpu_amx_fp16 (only if this process may use the tiles of AMX: the first call asks for that).
/// ZEX_cpu_xe_builtins is always there: modules may import DPAS, 2-D block reads and the other builtins
/// of Xe kernels, and get software versions.
const std::vector<const char *> &isa_extensions();

} // namespace ze_cpu
