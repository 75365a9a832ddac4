// SPDX-License-Identifier: Apache-2.0
//
// Fills the extension structures that a program chains to a query of device properties.
#include "device_extensions.h"

#include "border/newer_api.h"

namespace ze_cpu {

void describe_extensions(void *next) {
    for (auto *p = static_cast<ze_base_properties_t *>(next); p;
         p = static_cast<ze_base_properties_t *>(p->pNext)) {
        if (p->stype == KernelTimestampsProperties::type)
            reinterpret_cast<KernelTimestampsProperties *>(p)->flags =
                KernelTimestampsProperties::kernel | KernelTimestampsProperties::synchronized;
        else if (p->stype == ZE_STRUCTURE_TYPE_SCHEDULING_HINT_EXP_PROPERTIES)
            reinterpret_cast<ze_scheduling_hint_exp_properties_t *>(p)->schedulingHintFlags = 0;
    }
}

} // namespace ze_cpu
