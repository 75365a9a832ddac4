// SPDX-License-Identifier: Apache-2.0
//
// Level Zero functions and types younger than the 1.4 headers of Debian 12. They are in our tables from the
// version on that introduced them, so a program with a newer loader finds them. All are in our namespace, so
// that headers which do have them do not clash.
#pragma once

#include <level_zero/ze_api.h>

namespace ze_cpu {

inline constexpr uint32_t newest_minor = 17; // the tables in ddi_*.cpp are those of Level Zero 1.17

struct InitDriverTypeDesc { // ze_init_driver_type_desc_t, 1.10
    ze_structure_type_t stype;
    const void *pNext;
    uint32_t flags;
};
inline constexpr uint32_t init_driver_type_gpu = 1 << 0;
inline constexpr uint32_t init_driver_type_npu = 1 << 1;

ze_result_t zeInitDrivers(uint32_t *pCount, ze_driver_handle_t *phDrivers, InitDriverTypeDesc *desc);
ze_result_t zeDriverGetLastErrorDescription(ze_driver_handle_t hDriver, const char **ppString);
ze_result_t zeDeviceGetRootDevice(ze_device_handle_t hDevice, ze_device_handle_t *phRootDevice);
ze_result_t zeDeviceSynchronize(ze_device_handle_t hDevice);
ze_result_t zeCommandQueueGetOrdinal(ze_command_queue_handle_t hCommandQueue, uint32_t *pOrdinal);
ze_result_t zeCommandQueueGetIndex(ze_command_queue_handle_t hCommandQueue, uint32_t *pIndex);
ze_result_t zeCommandListHostSynchronize(ze_command_list_handle_t hCommandList, uint64_t timeout);
ze_result_t zeCommandListGetDeviceHandle(ze_command_list_handle_t hCommandList, ze_device_handle_t *phDevice);
ze_result_t zeCommandListGetContextHandle(ze_command_list_handle_t hCommandList,
                                          ze_context_handle_t *phContext);
ze_result_t zeCommandListGetOrdinal(ze_command_list_handle_t hCommandList, uint32_t *pOrdinal);
ze_result_t zeCommandListImmediateGetIndex(ze_command_list_handle_t hCommandListImmediate, uint32_t *pIndex);
ze_result_t zeCommandListIsImmediate(ze_command_list_handle_t hCommandList, ze_bool_t *pIsImmediate);
ze_result_t zeCommandListImmediateAppendCommandListsExp(ze_command_list_handle_t hCommandListImmediate,
                                                        uint32_t numCommandLists,
                                                        ze_command_list_handle_t *phCommandLists,
                                                        ze_event_handle_t hSignalEvent,
                                                        uint32_t numWaitEvents,
                                                        ze_event_handle_t *phWaitEvents);
ze_result_t zeEventPoolGetContextHandle(ze_event_pool_handle_t hEventPool, ze_context_handle_t *phContext);
ze_result_t zeEventPoolGetFlags(ze_event_pool_handle_t hEventPool, ze_event_pool_flags_t *pFlags);
ze_result_t zeEventGetEventPool(ze_event_handle_t hEvent, ze_event_pool_handle_t *phEventPool);
ze_result_t zeEventGetSignalScope(ze_event_handle_t hEvent, ze_event_scope_flags_t *pScope);
ze_result_t zeEventGetWaitScope(ze_event_handle_t hEvent, ze_event_scope_flags_t *pScope);

} // namespace ze_cpu
