// SPDX-License-Identifier: Apache-2.0
//
// The Level Zero functions that this driver implements: those of tables.def; newer_api.h declares those
// that older headers lack. They are in the namespace ze_cpu under their own names, and programs reach
// them only through the tables. So the functions of a Level Zero loader in the same process can neither
// replace them nor be replaced by them.
#pragma once

#include <level_zero/ze_api.h>

#include "newer_api.h"

namespace ze_cpu {

#define ZE_CPU_TABLE(getter)
#define ZE_CPU_HAS(minor, name) decltype(::name) name;
#define ZE_CPU_NEWER(minor, name)
#define ZE_CPU_LACKS(minor, name)
#define ZE_CPU_END
#define ZE_CPU_EMPTY(getter)
#include "tables.def"

} // namespace ze_cpu
