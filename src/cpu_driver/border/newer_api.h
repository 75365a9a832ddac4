// SPDX-License-Identifier: Apache-2.0
//
// Functions and types that the Level Zero 1.4 headers of Debian 12 lack. The tables have the
// functions from the version on that introduced them, so programs with a newer loader find them.
// They are in the namespace ze_cpu, so that they do not clash with newer headers.
#pragma once

#include <level_zero/ze_api.h>

namespace ze_cpu {

inline constexpr uint32_t newest_minor = 18; // tables.def has the tables of Level Zero 1.18

struct InitDriverTypeDesc { // ze_init_driver_type_desc_t, 1.10
    ze_structure_type_t stype;
    const void *pNext;
    uint32_t flags;
};
inline constexpr uint32_t init_driver_type_gpu = 1 << 0;
inline constexpr uint32_t init_driver_type_npu = 1 << 1;

struct CounterBasedEventDesc { // ze_event_counter_based_desc_t, 1.15
    ze_structure_type_t stype;
    const void *pNext;
    uint32_t flags;
    ze_event_scope_flags_t signal;
    ze_event_scope_flags_t wait;
};
inline constexpr uint32_t counter_based_host_visible = 1 << 2;
inline constexpr uint32_t counter_based_ipc = 1 << 3;
inline constexpr uint32_t counter_based_timestamp = 1 << 4 | 1 << 5; // of the device, or in the host's clock
inline constexpr uint32_t event_sync_mode_desc = 0x0002003c; // stype of a hint behind an event's descriptor
inline constexpr uint32_t counter_based_all = (1 << 7) - 1;

struct CounterBasedPoolDesc { // ze_event_pool_counter_based_exp_desc_t, 1.7
    static constexpr auto type = ze_structure_type_t(0x20014);
    static constexpr uint32_t all = 1 << 0 | 1 << 1; // for immediate lists, for regular lists
    ze_structure_type_t stype;
    const void *pNext;
    uint32_t flags;
};

using HostFunction = void (*)(void *pUserData); // ze_host_function_callback_t, 1.17

inline constexpr uint32_t queue_flag_in_order = 1 << 1; // 1.9
inline constexpr uint32_t queue_flag_copy_offload = 1 << 2;
inline constexpr uint32_t list_flag_in_order = 1 << 3;
inline constexpr uint32_t list_flag_copy_offload = 1 << 5;
inline constexpr uint32_t newest_memory_advice = 9;        // clears that of system memory, 1.9
inline constexpr uint32_t pool_mapped_timestamps = 1 << 3; // ZE_EVENT_POOL_FLAG_KERNEL_MAPPED_TIMESTAMP, 1.6

struct KernelTimestampsProperties { // ze_event_query_kernel_timestamps_ext_properties_t, 1.6
    static constexpr auto type = ze_structure_type_t(0x10011);
    static constexpr uint32_t kernel = 1 << 0, synchronized = 1 << 1;
    ze_structure_type_t stype;
    void *pNext;
    uint32_t flags;
};

struct KernelTimestampsResults { // ze_event_query_kernel_timestamps_results_ext_properties_t, 1.6
    struct HostSpan {
        uint64_t start, end; // in ns
    };
    struct Synchronized { // ze_synchronized_timestamp_result_ext_t
        HostSpan global, context;
    };
    ze_structure_type_t stype;
    void *pNext;
    ze_kernel_timestamp_result_t *kernel;
    Synchronized *synchronized;
};

// ZE_PHYSICAL_MEM_FLAG_ALLOCATE_ON_DEVICE and ..._ON_HOST, 1.7
inline constexpr uint32_t physical_mem_on_device = 1 << 0, physical_mem_on_host = 1 << 1;

// ze_memory_atomic_attr_exp_flags_t, 1.7: what forbids all atomics, and what allows some. The flag below each
// of the latter forbids the same.
inline constexpr uint32_t atomic_none = 1 << 0;
inline constexpr uint32_t atomic_allowing =
    1 << 2 | 1 << 4 | 1 << 6; // of the host, of the device, of both at once
inline constexpr uint32_t atomic_all = (1 << 7) - 1;

struct IpcHandleTypeDesc { // ze_ipc_mem_handle_type_ext_desc_t, 1.15
    static constexpr auto type = ze_structure_type_t(0x2003d);
    static constexpr uint32_t within_host = 1 << 0; // ZE_IPC_MEM_HANDLE_TYPE_FLAG_DEFAULT
    ze_structure_type_t stype;
    const void *pNext;
    uint32_t flags;
};

struct VectorWidths { // ze_device_vector_width_properties_ext_t, 1.13
    struct Set {
        uint32_t of_char, of_short, of_int, of_long, of_float, of_double, of_half;
    };
    ze_structure_type_t stype;
    void *pNext;
    uint32_t size;
    Set preferred, native;
};

struct ReadonlyMemoryProperties { // ze_device_readonly_memory_ext_properties_t, 1.17
    static constexpr auto type = ze_structure_type_t(0x10015);
    static constexpr uint32_t enforced = 2; // a write to read-only pages is a fault
    ze_structure_type_t stype;
    void *pNext;
    uint32_t capability;
};

struct MaxGroupSizeProperties { // ze_kernel_max_group_size_properties_ext_t, 1.12
    ze_structure_type_t stype;
    void *pNext;
    uint32_t maxGroupSize;
};
inline constexpr auto structure_type_max_group_size = ze_structure_type_t(0x10013);

struct GroupSize { // ze_group_size_t, 1.14
    uint32_t groupSizeX, groupSizeY, groupSizeZ;
};

struct CooperativeDesc { // ze_command_list_append_launch_kernel_param_cooperative_desc_t, 1.14
    ze_structure_type_t stype;
    const void *pNext;
    ze_bool_t isCooperative;
};
inline constexpr auto structure_type_cooperative = ze_structure_type_t(0x00020036);

struct KernelAllocation { // ze_kernel_allocation_exp_properties_t, 1.14
    ze_structure_type_t stype;
    void *pNext;
    uint64_t base;
    size_t size;
    ze_memory_type_t type;
    uint32_t argIndex;
};

ze_result_t zeInitDrivers(uint32_t *pCount, ze_driver_handle_t *phDrivers, InitDriverTypeDesc *desc);
ze_result_t zeDriverGetLastErrorDescription(ze_driver_handle_t hDriver, const char **ppString);
ze_context_handle_t zeDriverGetDefaultContext(ze_driver_handle_t hDriver);
ze_result_t zerGetLastErrorDescription(const char **ppString);
uint32_t zerTranslateDeviceHandleToIdentifier(ze_device_handle_t hDevice);
ze_device_handle_t zerTranslateIdentifierToDeviceHandle(uint32_t identifier);
ze_context_handle_t zerGetDefaultContext();
ze_result_t zeModuleGetDeviceHandle(ze_module_handle_t hModule, ze_device_handle_t *phDevice);
ze_result_t zeKernelGetModuleHandle(ze_kernel_handle_t hKernel, ze_module_handle_t *phModule);
ze_result_t zeDeviceGetRootDevice(ze_device_handle_t hDevice, ze_device_handle_t *phRootDevice);
ze_result_t zeDeviceGetVectorWidthPropertiesExt(ze_device_handle_t hDevice, uint32_t *pCount,
                                                VectorWidths *pVectorWidthProperties);
ze_result_t zeDeviceSynchronize(ze_device_handle_t hDevice);
ze_result_t zeCommandQueueGetOrdinal(ze_command_queue_handle_t hCommandQueue, uint32_t *pOrdinal);
ze_result_t zeCommandQueueGetIndex(ze_command_queue_handle_t hCommandQueue, uint32_t *pIndex);
ze_result_t zeCommandQueueGetFlags(ze_command_queue_handle_t hCommandQueue, ze_command_queue_flags_t *pFlags);
ze_result_t zeCommandQueueGetMode(ze_command_queue_handle_t hCommandQueue, ze_command_queue_mode_t *pMode);
ze_result_t zeCommandQueueGetPriority(ze_command_queue_handle_t hCommandQueue,
                                      ze_command_queue_priority_t *pPriority);
ze_result_t zeCommandListHostSynchronize(ze_command_list_handle_t hCommandList, uint64_t timeout);
ze_result_t zeCommandListGetDeviceHandle(ze_command_list_handle_t hCommandList, ze_device_handle_t *phDevice);
ze_result_t zeCommandListGetContextHandle(ze_command_list_handle_t hCommandList,
                                          ze_context_handle_t *phContext);
ze_result_t zeCommandListGetOrdinal(ze_command_list_handle_t hCommandList, uint32_t *pOrdinal);
ze_result_t zeCommandListImmediateGetIndex(ze_command_list_handle_t hCommandListImmediate, uint32_t *pIndex);
ze_result_t zeCommandListGetFlags(ze_command_list_handle_t hCommandList, ze_command_list_flags_t *pFlags);
ze_result_t zeCommandListImmediateGetFlags(ze_command_list_handle_t hCommandListImmediate,
                                           ze_command_queue_flags_t *pFlags);
ze_result_t zeCommandListImmediateGetMode(ze_command_list_handle_t hCommandListImmediate,
                                          ze_command_queue_mode_t *pMode);
ze_result_t zeCommandListImmediateGetPriority(ze_command_list_handle_t hCommandListImmediate,
                                              ze_command_queue_priority_t *pPriority);
ze_result_t zeCommandListIsMutableExp(ze_command_list_handle_t hCommandList, ze_bool_t *pIsMutable);
ze_result_t zeCommandListIsImmediate(ze_command_list_handle_t hCommandList, ze_bool_t *pIsImmediate);
ze_result_t zeCommandListImmediateAppendCommandListsExp(ze_command_list_handle_t hCommandListImmediate,
                                                        uint32_t numCommandLists,
                                                        ze_command_list_handle_t *phCommandLists,
                                                        ze_event_handle_t hSignalEvent,
                                                        uint32_t numWaitEvents,
                                                        ze_event_handle_t *phWaitEvents);
ze_result_t zeCommandListImmediateAppendCommandListsWithParameters(
    ze_command_list_handle_t hCommandListImmediate, uint32_t numCommandLists,
    ze_command_list_handle_t *phCommandLists, const void *pNext, ze_event_handle_t hSignalEvent,
    uint32_t numWaitEvents, ze_event_handle_t *phWaitEvents);
ze_result_t zeCommandListAppendMemoryCopyWithParameters(ze_command_list_handle_t hCommandList, void *dstptr,
                                                        const void *srcptr, size_t size, const void *pNext,
                                                        ze_event_handle_t hSignalEvent,
                                                        uint32_t numWaitEvents,
                                                        ze_event_handle_t *phWaitEvents);
ze_result_t zeCommandListAppendMemoryFillWithParameters(ze_command_list_handle_t hCommandList, void *ptr,
                                                        const void *pattern, size_t pattern_size, size_t size,
                                                        const void *pNext, ze_event_handle_t hSignalEvent,
                                                        uint32_t numWaitEvents,
                                                        ze_event_handle_t *phWaitEvents);
ze_result_t zeCommandListAppendHostFunction(ze_command_list_handle_t hCommandList,
                                            HostFunction pfnHostFunction, void *pUserData, const void *pNext,
                                            ze_event_handle_t hSignalEvent, uint32_t numWaitEvents,
                                            ze_event_handle_t *phWaitEvents);
ze_result_t zeEventCounterBasedCreate(ze_context_handle_t hContext, ze_device_handle_t hDevice,
                                      const CounterBasedEventDesc *desc, ze_event_handle_t *phEvent);
ze_result_t zeEventGetCounterBasedFlags(ze_event_handle_t hEvent, uint32_t *pFlags);
ze_result_t zeCommandListAppendLaunchKernelWithParameters(ze_command_list_handle_t hCommandList,
                                                          ze_kernel_handle_t hKernel,
                                                          const ze_group_count_t *pGroupCounts,
                                                          const void *pNext, ze_event_handle_t hSignalEvent,
                                                          uint32_t numWaitEvents,
                                                          ze_event_handle_t *phWaitEvents);
ze_result_t zeCommandListAppendLaunchKernelWithArguments(
    ze_command_list_handle_t hCommandList, ze_kernel_handle_t hKernel, ze_group_count_t groupCounts,
    GroupSize groupSizes, void **pArguments, const void *pNext, ze_event_handle_t hSignalEvent,
    uint32_t numWaitEvents, ze_event_handle_t *phWaitEvents);
ze_result_t zeKernelGetAllocationPropertiesExp(ze_kernel_handle_t hKernel, uint32_t *pCount,
                                               KernelAllocation *pAllocationProperties);
ze_result_t zeMemGetIpcHandleWithProperties(ze_context_handle_t hContext, const void *ptr, void *pNext,
                                            ze_ipc_mem_handle_t *pIpcHandle);
ze_result_t zeMemPutIpcHandle(ze_context_handle_t hContext, ze_ipc_mem_handle_t handle);
ze_result_t zeMemGetFileDescriptorFromIpcHandleExp(ze_context_handle_t hContext,
                                                   ze_ipc_mem_handle_t ipcHandle, uint64_t *pHandle);
ze_result_t zeMemGetIpcHandleFromFileDescriptorExp(ze_context_handle_t hContext, uint64_t handle,
                                                   ze_ipc_mem_handle_t *pIpcHandle);
ze_result_t zeMemSetAtomicAccessAttributeExp(ze_context_handle_t hContext, ze_device_handle_t hDevice,
                                             const void *ptr, size_t size, uint32_t attr);
ze_result_t zeMemGetAtomicAccessAttributeExp(ze_context_handle_t hContext, ze_device_handle_t hDevice,
                                             const void *ptr, size_t size, uint32_t *pAttr);
ze_result_t zeEventPoolPutIpcHandle(ze_context_handle_t hContext, ze_ipc_event_pool_handle_t hIpc);
ze_result_t zeEventPoolGetContextHandle(ze_event_pool_handle_t hEventPool, ze_context_handle_t *phContext);
ze_result_t zeEventPoolGetFlags(ze_event_pool_handle_t hEventPool, ze_event_pool_flags_t *pFlags);
ze_result_t zeEventQueryKernelTimestampsExt(ze_event_handle_t hEvent, ze_device_handle_t hDevice,
                                            uint32_t *pCount, KernelTimestampsResults *pResults);
ze_result_t zeEventGetEventPool(ze_event_handle_t hEvent, ze_event_pool_handle_t *phEventPool);
ze_result_t zeEventGetSignalScope(ze_event_handle_t hEvent, ze_event_scope_flags_t *pScope);
ze_result_t zeEventGetWaitScope(ze_event_handle_t hEvent, ze_event_scope_flags_t *pScope);

} // namespace ze_cpu
