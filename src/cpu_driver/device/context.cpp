// SPDX-License-Identifier: Apache-2.0
//
// Contexts and residency. All memory is ordinary memory of the process and always resident, so
// these calls only check their arguments.
#include <atomic>
#include <memory>

#include "border/border.h"
#include "border/entry_points.h"
#include "handles.h"

namespace ze_cpu {

ze_result_t zeContextCreate(ze_driver_handle_t hDriver, const ze_context_desc_t *desc,
                            ze_context_handle_t *phContext) {
    need_handles(hDriver);
    need_pointers(desc, phContext);
    if (desc->flags & ~uint32_t(ZE_CONTEXT_FLAG_TBD))
        return ZE_RESULT_ERROR_INVALID_ENUMERATION;
    *phContext = new _ze_context_handle_t{hDriver};
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeContextCreateEx(ze_driver_handle_t hDriver, const ze_context_desc_t *desc, uint32_t numDevices,
                              ze_device_handle_t *phDevices, ze_context_handle_t *phContext) {
    if (!phDevices && numDevices > 0)
        return ZE_RESULT_ERROR_INVALID_SIZE;
    need_each_handle(numDevices, phDevices);
    return ze_cpu::zeContextCreate(hDriver, desc, phContext);
}

ze_result_t zeContextDestroy(ze_context_handle_t hContext) {
    need_handles(hContext);
    if (hContext == default_context())
        return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    delete hContext;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeContextGetStatus(ze_context_handle_t hContext) {
    need_handles(hContext);
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeContextSystemBarrier(ze_context_handle_t hContext, ze_device_handle_t hDevice) {
    need_handles(hContext, hDevice);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeContextMakeMemoryResident(ze_context_handle_t hContext, ze_device_handle_t hDevice, void *ptr,
                                        size_t size) {
    need_handles(hContext, hDevice);
    need_pointers(ptr);
    return size ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_INVALID_SIZE;
}

ze_result_t zeContextEvictMemory(ze_context_handle_t hContext, ze_device_handle_t hDevice, void *ptr,
                                 size_t size) {
    return ze_cpu::zeContextMakeMemoryResident(hContext, hDevice, ptr, size);
}

} // namespace ze_cpu
