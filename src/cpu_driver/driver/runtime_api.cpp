// SPDX-License-Identifier: Apache-2.0
//
// The functions of Level Zero's "runtime" (zer): they take no driver handle and use the default
// driver.
#include "border/border.h"
#include "border/entry_points.h"
#include "device/handles.h"

namespace ze_cpu {

ze_result_t zerGetLastErrorDescription(const char **ppString) {
    return ze_cpu::zeDriverGetLastErrorDescription(the_driver(), ppString);
}

uint32_t zerTranslateDeviceHandleToIdentifier(ze_device_handle_t hDevice) {
    return hDevice == the_device() ? 0 : UINT32_MAX;
}

ze_device_handle_t zerTranslateIdentifierToDeviceHandle(uint32_t identifier) {
    return identifier == 0 ? the_device() : nullptr;
}

ze_context_handle_t zerGetDefaultContext() {
    return default_context();
}

} // namespace ze_cpu
