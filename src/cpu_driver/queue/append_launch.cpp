// SPDX-License-Identifier: Apache-2.0
//
// Appends of kernel launches.
#include "border/border.h"
#include "border/entry_points.h"
#include "border/refusal.h"
#include "command_list.h"
#include "event/event.h"
#include "kernel/kernel.h"

namespace ze_cpu {
namespace {

/// All work-groups of a cooperative launch have to run at the same time. The OpenCL runtime does
/// not promise that for two work-groups, so a launch may have only one.
constexpr uint32_t most_cooperative_groups = 1;

bool fits_cooperative(const ze_group_count_t &groups) {
    return uint64_t(groups.groupCountX) * groups.groupCountY <= most_cooperative_groups &&
           groups.groupCountZ <= most_cooperative_groups;
}

/// Reads the pNext chain of a launch. The cooperative descriptor is the only known structure;
/// others are refused. Returns whether the launch is cooperative.
bool read_parameters(const void *next) {
    bool cooperative = false;
    each_next(next, [&](const ze_base_desc_t &p) {
        if (p.stype != structure_type_cooperative)
            throw ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
        cooperative = reinterpret_cast<const CooperativeDesc &>(p).isCooperative;
    });
    return cooperative;
}

/// Does what zeKernelSetGroupSize and zeKernelSetArgumentValue do. For an argument in local memory,
/// `arguments` has the address of its size.
ze_result_t set_state(ze_kernel_handle_t kernel, const GroupSize &size, void **arguments) {
    if (ze_result_t result =
            ze_cpu::zeKernelSetGroupSize(kernel, size.groupSizeX, size.groupSizeY, size.groupSizeZ))
        return result;
    const auto &args = kernel->object->info().args;
    if (!args.empty())
        need_pointers(arguments);
    for (uint32_t i = 0; i < args.size(); i++) {
        size_t bytes = args[i].size;
        const void *value = arguments[i];
        if (args[i].kind == ArgKind::local) {
            need_pointers(value);
            bytes = *static_cast<const size_t *>(value);
            value = nullptr;
        }
        if (ze_result_t result = ze_cpu::zeKernelSetArgumentValue(kernel, i, bytes, value))
            return result;
    }
    return ZE_RESULT_SUCCESS;
}

} // namespace

ze_result_t zeCommandListAppendLaunchKernel(ze_command_list_handle_t hCommandList, ze_kernel_handle_t hKernel,
                                            const ze_group_count_t *pLaunchFuncArgs,
                                            ze_event_handle_t hSignalEvent, uint32_t numWaitEvents,
                                            ze_event_handle_t *phWaitEvents) {
    return ze_cpu::zeCommandListAppendLaunchKernelWithParameters(
        hCommandList, hKernel, pLaunchFuncArgs, nullptr, hSignalEvent, numWaitEvents, phWaitEvents);
}

ze_result_t zeCommandListAppendLaunchCooperativeKernel(ze_command_list_handle_t hCommandList,
                                                       ze_kernel_handle_t hKernel,
                                                       const ze_group_count_t *pLaunchFuncArgs,
                                                       ze_event_handle_t hSignalEvent, uint32_t numWaitEvents,
                                                       ze_event_handle_t *phWaitEvents) {
    const CooperativeDesc cooperative{structure_type_cooperative, nullptr, true};
    return ze_cpu::zeCommandListAppendLaunchKernelWithParameters(
        hCommandList, hKernel, pLaunchFuncArgs, &cooperative, hSignalEvent, numWaitEvents, phWaitEvents);
}

ze_result_t zeKernelSuggestMaxCooperativeGroupCount(ze_kernel_handle_t hKernel, uint32_t *totalGroupCount) {
    return answer(hKernel, totalGroupCount, [](auto &) { return most_cooperative_groups; });
}

ze_result_t zeCommandListAppendLaunchKernelWithParameters(ze_command_list_handle_t hCommandList,
                                                          ze_kernel_handle_t hKernel,
                                                          const ze_group_count_t *pGroupCounts,
                                                          const void *pNext, ze_event_handle_t hSignalEvent,
                                                          uint32_t numWaitEvents,
                                                          ze_event_handle_t *phWaitEvents) {
    check_append(hCommandList, numWaitEvents, phWaitEvents);
    need_handles(hKernel);
    need_pointers(pGroupCounts);
    if (read_parameters(pNext) && !fits_cooperative(*pGroupCounts))
        return refuse(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                      "a cooperative launch has one group at most on the CPU device, since its runtime "
                      "does not promise to run several at once");
    return append(hCommandList, make_launch(hKernel, *pGroupCounts), hSignalEvent, numWaitEvents,
                  phWaitEvents);
}

ze_result_t zeCommandListAppendLaunchKernelWithArguments(
    ze_command_list_handle_t hCommandList, ze_kernel_handle_t hKernel, ze_group_count_t groupCounts,
    GroupSize groupSizes, void **pArguments, const void *pNext, ze_event_handle_t hSignalEvent,
    uint32_t numWaitEvents, ze_event_handle_t *phWaitEvents) {
    check_append(hCommandList, numWaitEvents, phWaitEvents);
    need_handles(hKernel);
    read_parameters(pNext); // refuses before the kernel is changed
    if (ze_result_t bad = set_state(hKernel, groupSizes, pArguments))
        return bad;
    return ze_cpu::zeCommandListAppendLaunchKernelWithParameters(hCommandList, hKernel, &groupCounts, pNext,
                                                                 hSignalEvent, numWaitEvents, phWaitEvents);
}

ze_result_t zeCommandListAppendLaunchKernelIndirect(ze_command_list_handle_t hCommandList,
                                                    ze_kernel_handle_t hKernel,
                                                    const ze_group_count_t *pLaunchArgumentsBuffer,
                                                    ze_event_handle_t hSignalEvent, uint32_t numWaitEvents,
                                                    ze_event_handle_t *phWaitEvents) {
    check_append(hCommandList, numWaitEvents, phWaitEvents);
    need_handles(hKernel);
    need_pointers(pLaunchArgumentsBuffer);
    return append(hCommandList, make_indirect_launch(&hKernel, 1, nullptr, pLaunchArgumentsBuffer),
                  hSignalEvent, numWaitEvents, phWaitEvents);
}

ze_result_t zeCommandListAppendLaunchMultipleKernelsIndirect(
    ze_command_list_handle_t hCommandList, uint32_t numKernels, ze_kernel_handle_t *phKernels,
    const uint32_t *pCountBuffer, const ze_group_count_t *pLaunchArgumentsBuffer,
    ze_event_handle_t hSignalEvent, uint32_t numWaitEvents, ze_event_handle_t *phWaitEvents) {
    check_append(hCommandList, numWaitEvents, phWaitEvents);
    need_pointers(phKernels, pCountBuffer, pLaunchArgumentsBuffer);
    need_each_handle(numKernels, phKernels);
    return append(hCommandList,
                  make_indirect_launch(phKernels, numKernels, pCountBuffer, pLaunchArgumentsBuffer),
                  hSignalEvent, numWaitEvents, phWaitEvents);
}

} // namespace ze_cpu
