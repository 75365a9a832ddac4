// SPDX-License-Identifier: Apache-2.0
//
// Extension structures that a program chains to a query of device properties.
#pragma once

namespace ze_cpu {

/// Fills those structures in the chain `next` that this driver knows. The chain is pNext of a
/// ze_device_properties_t or a ze_device_module_properties_t.
void describe_extensions(void *next);

} // namespace ze_cpu
