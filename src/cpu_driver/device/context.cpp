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
    ZE_CPU_NEED_HANDLE(hDriver);
    ZE_CPU_NEED_POINTER(desc);
    ZE_CPU_NEED_POINTER(phContext);
    if (desc->flags & ~uint32_t(ZE_CONTEXT_FLAG_TBD))
        return ZE_RESULT_ERROR_INVALID_ENUMERATION;
    return guarded([&] {
        *phContext = new _ze_context_handle_t{hDriver};
        return ZE_RESULT_SUCCESS;
    });
}

ze_result_t zeContextCreateEx(ze_driver_handle_t hDriver, const ze_context_desc_t *desc, uint32_t numDevices,
                              ze_device_handle_t *phDevices, ze_context_handle_t *phContext) {
    if (!phDevices && numDevices > 0)
        return ZE_RESULT_ERROR_INVALID_SIZE;
    for (uint32_t i = 0; i < numDevices; i++)
        ZE_CPU_NEED_HANDLE(phDevices[i]);
    return ze_cpu::zeContextCreate(hDriver, desc, phContext);
}

ze_result_t zeContextDestroy(ze_context_handle_t hContext) {
    ZE_CPU_NEED_HANDLE(hContext);
    if (hContext == default_context())
        return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    delete hContext;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeContextGetStatus(ze_context_handle_t hContext) {
    ZE_CPU_NEED_HANDLE(hContext);
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeContextSystemBarrier(ze_context_handle_t hContext, ze_device_handle_t hDevice) {
    ZE_CPU_NEED_HANDLE(hContext);
    ZE_CPU_NEED_HANDLE(hDevice);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeContextMakeMemoryResident(ze_context_handle_t hContext, ze_device_handle_t hDevice, void *ptr,
                                        size_t size) {
    ZE_CPU_NEED_HANDLE(hContext);
    ZE_CPU_NEED_HANDLE(hDevice);
    ZE_CPU_NEED_POINTER(ptr);
    return size ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_INVALID_SIZE;
}

ze_result_t zeContextEvictMemory(ze_context_handle_t hContext, ze_device_handle_t hDevice, void *ptr,
                                 size_t size) {
    return ze_cpu::zeContextMakeMemoryResident(hContext, hDevice, ptr, size);
}

} // namespace ze_cpu
