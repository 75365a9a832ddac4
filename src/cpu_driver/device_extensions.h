// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace ze_cpu {

/// Fills those of the structures chained from `next` (pNext of ze_device_properties_t and
/// ze_device_module_properties_t) that this driver knows.
void describe_extensions(void *next);

} // namespace ze_cpu
