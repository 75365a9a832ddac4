// SPDX-License-Identifier: Apache-2.0
//
// Queries of a kernel's properties.
#include <algorithm>
#include <cstring>

#include "border/border.h"
#include "border/entry_points.h"
#include "kernel.h"
#include "memory/memory.h"
#include "opencl/runtime.h"

namespace ze_cpu {
namespace {

template <class T> T work_group_value(cl::Kernel kernel, cl::Uint key) {
    T value{};
    opencl().clGetKernelWorkGroupInfo(kernel, runtime().device, key, sizeof value, &value, nullptr);
    return value;
}

size_t sub_group_value(cl::Kernel kernel, cl::Uint key, const size_t *group_size) {
    size_t value = 0;
    opencl().clGetKernelSubGroupInfo(kernel, runtime().device, key, group_size ? 3 * sizeof(size_t) : 0,
                                     group_size, sizeof value, &value, nullptr);
    return value;
}

} // namespace

size_t KernelObject::max_group_size() const {
    const size_t limit = work_group_value<size_t>(get(), cl::kernel_work_group_size);
    return limit ? std::min(limit, runtime().info.max_group_size) : runtime().info.max_group_size;
}

ze_result_t zeKernelGetSourceAttributes(ze_kernel_handle_t hKernel, uint32_t *pSize, char **pString) {
    need_handles(hKernel);
    need_pointers(pSize);
    const std::string &text = hKernel->object->info().attributes;
    if (pString) { // the specification wants the address of a pointer to the caller's memory
        need_pointers(*pString);
        if (*pSize < text.size() + 1)
            return ZE_RESULT_ERROR_INVALID_SIZE;
        std::memcpy(*pString, text.c_str(), text.size() + 1);
    }
    *pSize = uint32_t(text.size() + 1);
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeKernelGetProperties(ze_kernel_handle_t hKernel, ze_kernel_properties_t *p) {
    need_handles(hKernel);
    need_pointers(p);
    const KernelInfo &info = hKernel->object->info();
    cl::Kernel kernel = hKernel->object->get();
    const size_t group[3] = {hKernel->group_size[0], hKernel->group_size[1], hKernel->group_size[2]};
    p->numKernelArgs = uint32_t(info.args.size());
    p->requiredGroupSizeX = info.required_group_size[0];
    p->requiredGroupSizeY = info.required_group_size[1];
    p->requiredGroupSizeZ = info.required_group_size[2];
    p->requiredNumSubGroups = info.required_sub_groups;
    p->requiredSubgroupSize = info.required_sub_group_size;
    p->maxSubgroupSize = uint32_t(sub_group_value(kernel, cl::kernel_max_sub_group_size_for_ndrange, group));
    p->maxNumSubgroups = uint32_t(sub_group_value(kernel, cl::kernel_max_num_sub_groups, nullptr));
    p->localMemSize = uint32_t(hKernel->object->local_size(hKernel->args));
    p->privateMemSize = uint32_t(work_group_value<cl::Ulong>(kernel, cl::kernel_private_mem_size));
    p->spillMemSize = 0;
    // The UUID is unique within this process only.
    std::memset(&p->uuid, 0, sizeof p->uuid);
    const uint64_t kernel_id = uint64_t(reinterpret_cast<uintptr_t>(&info));
    const uint64_t module_id = uint64_t(reinterpret_cast<uintptr_t>(hKernel->object->module()));
    std::memcpy(p->uuid.kid, &kernel_id, sizeof kernel_id);
    std::memcpy(p->uuid.mid, &module_id, sizeof module_id);
    if (auto *preferred = find_next<ze_kernel_preferred_group_size_properties_t>(
            p->pNext, ZE_STRUCTURE_TYPE_KERNEL_PREFERRED_GROUP_SIZE_PROPERTIES))
        preferred->preferredMultiple =
            uint32_t(work_group_value<size_t>(kernel, cl::kernel_preferred_work_group_size_multiple));
    if (auto *largest = find_next<MaxGroupSizeProperties>(p->pNext, structure_type_max_group_size))
        largest->maxGroupSize = uint32_t(hKernel->object->max_group_size());
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeKernelGetName(ze_kernel_handle_t hKernel, size_t *pSize, char *pName) {
    need_handles(hKernel);
    need_pointers(pSize);
    const std::string &name = hKernel->object->info().name;
    if (pName) {
        if (*pSize < name.size() + 1)
            return ZE_RESULT_ERROR_INVALID_SIZE;
        std::memcpy(pName, name.c_str(), name.size() + 1);
    }
    *pSize = name.size() + 1;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeKernelGetModuleHandle(ze_kernel_handle_t hKernel, ze_module_handle_t *phModule) {
    need_handles(hKernel);
    need_pointers(phModule);
    *phModule = hKernel->module;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeKernelGetAllocationPropertiesExp(ze_kernel_handle_t hKernel, uint32_t *pCount,
                                               KernelAllocation *pAllocationProperties) {
    need_handles(hKernel);
    const KernelObject &object = *hKernel->object;
    std::vector<std::pair<Allocation, uint32_t>> found;
    for (uint32_t i = 0; i < object.info().args.size(); i++) {
        if (object.info().args[i].kind != ArgKind::pointer)
            continue;
        const void *pointer = nullptr;
        std::memcpy(&pointer, hKernel->args.bytes.data() + object.offset(i), sizeof pointer);
        if (Allocation allocation; find_allocation(pointer, allocation))
            found.emplace_back(allocation, i);
    }
    return answer_list(uint32_t(found.size()), pCount, pAllocationProperties,
                       [&](uint32_t i, KernelAllocation &to) {
                           to.base = found[i].first.base;
                           to.size = found[i].first.size;
                           to.type = found[i].first.type;
                           to.argIndex = found[i].second;
                       });
}

} // namespace ze_cpu
