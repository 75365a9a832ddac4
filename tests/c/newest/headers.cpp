// SPDX-License-Identifier: Apache-2.0
// What newer_api.h declares for headers that lack it is what the newest headers say.
#include <cstddef>
#include <type_traits>

#include <level_zero/ze_api.h>
#include <level_zero/zer_api.h>

#include "border/entry_points.h"

#define SAME_SIZE(ours, theirs) static_assert(sizeof(ze_cpu::ours) == sizeof(::theirs))
#define SAME_PLACE(ours, member, theirs, their_member)                                                       \
    static_assert(offsetof(ze_cpu::ours, member) == offsetof(::theirs, their_member))
#define SAME_VALUE(ours, theirs) static_assert(uint32_t(ze_cpu::ours) == uint32_t(theirs))

// The driver has the tables of one version more than these headers may have: Debian's are late.
static_assert(ZE_MINOR_VERSION(ZE_API_VERSION_CURRENT) + 1 >= ze_cpu::newest_minor);

#if ZE_MINOR_VERSION(ZE_API_VERSION_CURRENT_M) < 18
using ze_cpu::zeModuleGetDeviceHandle, ze_cpu::zeKernelGetModuleHandle;
#endif

SAME_SIZE(InitDriverTypeDesc, ze_init_driver_type_desc_t);
SAME_PLACE(InitDriverTypeDesc, flags, ze_init_driver_type_desc_t, flags);
SAME_VALUE(init_driver_type_gpu, ZE_INIT_DRIVER_TYPE_FLAG_GPU);
SAME_VALUE(init_driver_type_npu, ZE_INIT_DRIVER_TYPE_FLAG_NPU);

SAME_SIZE(CounterBasedEventDesc, ze_event_counter_based_desc_t);
SAME_PLACE(CounterBasedEventDesc, flags, ze_event_counter_based_desc_t, flags);
SAME_PLACE(CounterBasedEventDesc, signal, ze_event_counter_based_desc_t, signal);
SAME_PLACE(CounterBasedEventDesc, wait, ze_event_counter_based_desc_t, wait);
SAME_VALUE(counter_based_ipc, ZE_EVENT_COUNTER_BASED_FLAG_IPC);
SAME_VALUE(counter_based_timestamp,
           ZE_EVENT_COUNTER_BASED_FLAG_DEVICE_TIMESTAMP | ZE_EVENT_COUNTER_BASED_FLAG_HOST_TIMESTAMP);
SAME_VALUE(counter_based_all, 2 * ZE_EVENT_COUNTER_BASED_FLAG_GRAPH_EXTERNAL - 1);
SAME_VALUE(event_sync_mode_desc, ZE_STRUCTURE_TYPE_EVENT_SYNC_MODE_DESC);
static_assert(std::is_same_v<ze_cpu::HostFunction, ze_host_function_callback_t>);

SAME_VALUE(queue_flag_in_order, ZE_COMMAND_QUEUE_FLAG_IN_ORDER);
SAME_VALUE(queue_flag_copy_offload, ZE_COMMAND_QUEUE_FLAG_COPY_OFFLOAD_HINT);
SAME_VALUE(list_flag_in_order, ZE_COMMAND_LIST_FLAG_IN_ORDER);
SAME_VALUE(list_flag_copy_offload, ZE_COMMAND_LIST_FLAG_COPY_OFFLOAD_HINT);

SAME_SIZE(CounterBasedPoolDesc, ze_event_pool_counter_based_exp_desc_t);
SAME_VALUE(CounterBasedPoolDesc::type, ZE_STRUCTURE_TYPE_COUNTER_BASED_EVENT_POOL_EXP_DESC);
SAME_VALUE(pool_mapped_timestamps, ZE_EVENT_POOL_FLAG_KERNEL_MAPPED_TIMESTAMP);
SAME_SIZE(KernelTimestampsProperties, ze_event_query_kernel_timestamps_ext_properties_t);
SAME_VALUE(KernelTimestampsProperties::type, ZE_STRUCTURE_TYPE_EVENT_QUERY_KERNEL_TIMESTAMPS_EXT_PROPERTIES);
SAME_SIZE(KernelTimestampsResults, ze_event_query_kernel_timestamps_results_ext_properties_t);
SAME_PLACE(KernelTimestampsResults, synchronized, ze_event_query_kernel_timestamps_results_ext_properties_t,
           pSynchronizedTimestampsBuffer);
SAME_SIZE(KernelTimestampsResults::Synchronized, ze_synchronized_timestamp_result_ext_t);
SAME_VALUE(physical_mem_on_device, ZE_PHYSICAL_MEM_FLAG_ALLOCATE_ON_DEVICE);
SAME_VALUE(physical_mem_on_host, ZE_PHYSICAL_MEM_FLAG_ALLOCATE_ON_HOST);
SAME_VALUE(atomic_none, ZE_MEMORY_ATOMIC_ATTR_EXP_FLAG_NO_ATOMICS);
SAME_VALUE(atomic_allowing, ZE_MEMORY_ATOMIC_ATTR_EXP_FLAG_HOST_ATOMICS |
                                ZE_MEMORY_ATOMIC_ATTR_EXP_FLAG_DEVICE_ATOMICS |
                                ZE_MEMORY_ATOMIC_ATTR_EXP_FLAG_SYSTEM_ATOMICS);
SAME_VALUE(atomic_allowing >> 1, ZE_MEMORY_ATOMIC_ATTR_EXP_FLAG_NO_HOST_ATOMICS |
                                     ZE_MEMORY_ATOMIC_ATTR_EXP_FLAG_NO_DEVICE_ATOMICS |
                                     ZE_MEMORY_ATOMIC_ATTR_EXP_FLAG_NO_SYSTEM_ATOMICS);
SAME_VALUE(atomic_all, 2 * ZE_MEMORY_ATOMIC_ATTR_EXP_FLAG_SYSTEM_ATOMICS - 1);
SAME_SIZE(IpcHandleTypeDesc, ze_ipc_mem_handle_type_ext_desc_t);
SAME_VALUE(IpcHandleTypeDesc::type, ZE_STRUCTURE_TYPE_IPC_MEM_HANDLE_TYPE_EXT_DESC);
SAME_VALUE(IpcHandleTypeDesc::within_host, ZE_IPC_MEM_HANDLE_TYPE_FLAG_DEFAULT);
SAME_SIZE(VectorWidths, ze_device_vector_width_properties_ext_t);
SAME_PLACE(VectorWidths, native, ze_device_vector_width_properties_ext_t, native_vector_width_char);
SAME_SIZE(MaxGroupSizeProperties, ze_kernel_max_group_size_properties_ext_t);
SAME_VALUE(structure_type_max_group_size, ZE_STRUCTURE_TYPE_KERNEL_MAX_GROUP_SIZE_EXT_PROPERTIES);
SAME_SIZE(GroupSize, ze_group_size_t);
SAME_SIZE(CooperativeDesc, ze_command_list_append_launch_kernel_param_cooperative_desc_t);
SAME_VALUE(structure_type_cooperative, ZE_STRUCTURE_TYPE_COMMAND_LIST_APPEND_PARAM_COOPERATIVE_DESC);
SAME_SIZE(KernelAllocation, ze_kernel_allocation_exp_properties_t);
SAME_PLACE(KernelAllocation, argIndex, ze_kernel_allocation_exp_properties_t, argIndex);

template <typename T> using pointee = std::remove_cv_t<std::remove_pointer_t<T>>;
// The same type, or structures of one size under two names.
template <typename A, typename B> constexpr bool is_same() {
    if constexpr (std::is_class_v<pointee<A>> && std::is_class_v<pointee<B>> && !std::is_same_v<A, B>)
        return std::is_pointer_v<A> == std::is_pointer_v<B> && sizeof(pointee<A>) == sizeof(pointee<B>);
    else
        return std::is_same_v<A, B>;
}
template <typename R, typename... A, typename... B> constexpr bool are_same(R (*)(A...), R (*)(B...)) {
    return (is_same<A, B>() && ...);
}
#define ZE_CPU_HAS(minor, name)
#define ZE_CPU_NEWER(minor, name) static_assert(are_same(&ze_cpu::name, &::name));
#include "functions.def"
