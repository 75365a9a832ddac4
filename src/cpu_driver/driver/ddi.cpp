// SPDX-License-Identifier: Apache-2.0
#include "ddi.h"

namespace ze_cpu {

ze_result_t unsupported() {
    return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
}

ze_result_t fill_table(ze_api_version_t version, void *table, const Slot *slots, size_t count) {
    if (!table)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    const auto number = uint32_t(version);
    if (ZE_MAJOR_VERSION(number) != 1)
        return ZE_RESULT_ERROR_UNSUPPORTED_VERSION;
    auto *to = static_cast<AnyFunction *>(table);
    for (size_t i = 0; i < count; i++)
        if (slots[i].minor <= ZE_MINOR_VERSION(number))
            to[i] = slots[i].function;
    return ZE_RESULT_SUCCESS;
}

} // namespace ze_cpu
