// SPDX-License-Identifier: Apache-2.0
#include "kernel.h"

#include <algorithm>
#include <cstring>

#include "border/border.h"
#include "border/entry_points.h"
#include "border/refusal.h"
#include "memory/image.h"
#include "memory/sampler.h"
#include "opencl/runtime.h"

namespace ze_cpu {
namespace {

bool has_required_size(const KernelInfo &info) {
    return info.required_group_size[0] != 0;
}

/// Whether `value` may be an integer of `size` bytes that fits into `to` bytes.
bool is_narrow_integer(const uint8_t *value, size_t size, size_t to) {
    if (to == 0 || to > sizeof(uint32_t) || size > sizeof(uint64_t))
        return false;
    const uint8_t fill = value[to];
    const bool extends = fill == 0 || (fill == 0xff && value[to - 1] & 0x80);
    return extends && std::all_of(value + to, value + size, [&](uint8_t byte) { return byte == fill; });
}

/// Sets an argument to OpenCL's handle of an image or sampler, and keeps the object alive.
template <class Handle, class Get>
ze_result_t set_object(ze_kernel_handle_t kernel, uint32_t arg, size_t size, const void *value, Get get) {
    if (size != sizeof(Handle))
        return ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE;
    Handle handle = nullptr;
    if (value)
        std::memcpy(&handle, value, sizeof handle);
    if (!handle)
        return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    ArgValues &args = kernel->args;
    args.kept.resize(args.is_set.size());
    const auto object = get(handle);
    const auto opencl_handle = object->get();
    args.kept[arg] = object;
    std::memcpy(args.bytes.data() + kernel->object->offset(arg), &opencl_handle, sizeof opencl_handle);
    args.is_set[arg] = 1;
    return ZE_RESULT_SUCCESS;
}

} // namespace

ze_result_t zeKernelCreate(ze_module_handle_t hModule, const ze_kernel_desc_t *desc,
                           ze_kernel_handle_t *phKernel) {
    need_handles(hModule);
    need_pointers(desc, phKernel);
    need_pointers(desc->pKernelName);
    const BuiltModule &built = *hModule->built;
    if (!built.program)
        return refuse(ZE_RESULT_ERROR_INVALID_MODULE_UNLINKED, missing_sentence(*hModule->unit));
    auto info = std::find_if(built.kernels.begin(), built.kernels.end(),
                             [&](const KernelInfo &k) { return k.name == desc->pKernelName; });
    if (info == built.kernels.end())
        return refuse(ZE_RESULT_ERROR_INVALID_KERNEL_NAME,
                      std::string("the module has no kernel ") + desc->pKernelName);
    for (const ArgInfo &arg : info->args)
        if (arg.kind == ArgKind::opaque)
            return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
    cl::Int status = cl::success;
    OwnedKernel kernel(opencl().clCreateKernel(built.program->get(), desc->pKernelName, &status));
    if (!kernel)
        return status == cl::out_of_host_memory ? ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY
                                                : ZE_RESULT_ERROR_INVALID_KERNEL_NAME;
    auto handle = std::make_unique<_ze_kernel_handle_t>();
    handle->module = hModule;
    handle->object = std::make_shared<KernelObject>(hModule->built, *info, std::move(kernel));
    handle->args.bytes.resize(handle->object->total_size());
    handle->args.is_set.resize(info->args.size());
    if (has_required_size(*info))
        handle->group_size = info->required_group_size;
    *phKernel = handle.release();
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeKernelDestroy(ze_kernel_handle_t hKernel) {
    return destroy(hKernel); // launches that still run keep the KernelObject alive
}

ze_result_t zeKernelSetArgumentValue(ze_kernel_handle_t hKernel, uint32_t argIndex, size_t argSize,
                                     const void *pArgValue) {
    need_handles(hKernel);
    const KernelObject &object = *hKernel->object;
    if (argIndex >= object.info().args.size())
        return ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_INDEX;
    const ArgInfo &arg = object.info().args[argIndex];
    uint8_t *to = hKernel->args.bytes.data() + object.offset(argIndex);
    if (arg.kind == ArgKind::local) { // the append checks whether there is enough
        if (pArgValue)
            return ZE_RESULT_ERROR_INVALID_ARGUMENT;
        const uint64_t size = argSize; // 0: the kernel does not use it
        std::memcpy(to, &size, sizeof size);
    } else if (arg.kind == ArgKind::image) {
        return set_object<ze_image_handle_t>(hKernel, argIndex, argSize, pArgValue,
                                             [](ze_image_handle_t h) { return h->image; });
    } else if (arg.kind == ArgKind::sampler) {
        return set_object<ze_sampler_handle_t>(hKernel, argIndex, argSize, pArgValue,
                                               [](ze_sampler_handle_t h) { return h->sampler; });
    } else {
        const auto *value = static_cast<const uint8_t *>(pArgValue);
        const bool is_longer = argSize > arg.size && !(value && arg.kind == ArgKind::value &&
                                                       is_narrow_integer(value, argSize, arg.size));
        if (is_longer || (value && argSize < arg.least))
            return refuse(ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE,
                          "argument " + std::to_string(argIndex) + " of kernel " + object.info().name +
                              " has " + std::to_string(arg.size) + " bytes, " + std::to_string(argSize) +
                              " were given");
        std::memset(to, 0, arg.size);
        if (value)
            std::memcpy(to, value, std::min<size_t>(argSize, arg.size));
    }
    hKernel->args.is_set[argIndex] = 1;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeKernelSetGroupSize(ze_kernel_handle_t hKernel, uint32_t x, uint32_t y, uint32_t z) {
    need_handles(hKernel);
    const std::array<uint32_t, 3> size{x, y, z};
    const auto &limits = runtime().info.max_group_sizes;
    for (int i = 0; i < 3; i++)
        if (size[i] == 0 || size[i] > limits[i])
            return ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION;
    if (size == hKernel->group_size)
        return ZE_RESULT_SUCCESS;
    if (uint64_t(x) * y > hKernel->object->max_group_size() ||
        uint64_t(x) * y * z > hKernel->object->max_group_size())
        return ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION;
    const KernelInfo &info = hKernel->object->info();
    if (has_required_size(info) && size != info.required_group_size)
        return ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION;
    hKernel->group_size = size;
    return ZE_RESULT_SUCCESS;
}

/// Suggests the largest divisors of the global size whose product is at most 256 work-items: enough
/// to amortise the start of a work-group on a CPU, and few enough that all threads get work-groups.
/// A kernel with a required group size gets that one.
ze_result_t zeKernelSuggestGroupSize(ze_kernel_handle_t hKernel, uint32_t globalSizeX, uint32_t globalSizeY,
                                     uint32_t globalSizeZ, uint32_t *groupSizeX, uint32_t *groupSizeY,
                                     uint32_t *groupSizeZ) {
    need_handles(hKernel);
    need_pointers(groupSizeX, groupSizeY, groupSizeZ);
    const std::array<uint32_t, 3> global{globalSizeX, globalSizeY, globalSizeZ};
    if (!globalSizeX || !globalSizeY || !globalSizeZ)
        return ZE_RESULT_ERROR_INVALID_GLOBAL_WIDTH_DIMENSION;
    const KernelInfo &info = hKernel->object->info();
    std::array<uint32_t, 3> group = info.required_group_size;
    if (!has_required_size(info)) {
        size_t room = std::min<size_t>(256, hKernel->object->max_group_size());
        for (int i = 0; i < 3; i++) {
            group[i] = uint32_t(std::min<size_t>({global[i], room, runtime().info.max_group_sizes[i]}));
            while (global[i] % group[i] != 0)
                group[i]--;
            room /= group[i];
        }
    }
    *groupSizeX = group[0];
    *groupSizeY = group[1];
    *groupSizeZ = group[2];
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeKernelSetIndirectAccess(ze_kernel_handle_t hKernel, ze_kernel_indirect_access_flags_t flags) {
    need_handles(hKernel);
    constexpr uint32_t known = ZE_KERNEL_INDIRECT_ACCESS_FLAG_HOST | ZE_KERNEL_INDIRECT_ACCESS_FLAG_DEVICE |
                               ZE_KERNEL_INDIRECT_ACCESS_FLAG_SHARED;
    if (flags & ~known)
        return ZE_RESULT_ERROR_INVALID_ENUMERATION;
    hKernel->indirect_access = flags; // all memory is visible to kernels anyway
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeKernelGetIndirectAccess(ze_kernel_handle_t hKernel, ze_kernel_indirect_access_flags_t *pFlags) {
    return answer(hKernel, pFlags, [](auto &it) { return it.indirect_access; });
}

ze_result_t zeKernelSetCacheConfig(ze_kernel_handle_t hKernel, ze_cache_config_flags_t flags) {
    need_handles(hKernel);
    if (flags & ~uint32_t(ZE_CACHE_CONFIG_FLAG_LARGE_SLM | ZE_CACHE_CONFIG_FLAG_LARGE_DATA))
        return ZE_RESULT_ERROR_INVALID_ENUMERATION;
    return ZE_RESULT_SUCCESS; // a hint that has no effect here
}

ze_result_t zeKernelSchedulingHintExp(ze_kernel_handle_t hKernel, ze_scheduling_hint_exp_desc_t *pHint) {
    need_handles(hKernel);
    need_pointers(pHint);
    constexpr uint32_t known = ZE_SCHEDULING_HINT_EXP_FLAG_OLDEST_FIRST |
                               ZE_SCHEDULING_HINT_EXP_FLAG_ROUND_ROBIN |
                               ZE_SCHEDULING_HINT_EXP_FLAG_STALL_BASED_ROUND_ROBIN;
    if (pHint->flags & ~known)
        return ZE_RESULT_ERROR_INVALID_ENUMERATION;
    return ZE_RESULT_SUCCESS; // a hint that has no effect here
}

ze_result_t zeKernelSetGlobalOffsetExp(ze_kernel_handle_t hKernel, uint32_t x, uint32_t y, uint32_t z) {
    need_handles(hKernel);
    hKernel->global_offset = {x, y, z};
    return ZE_RESULT_SUCCESS;
}

} // namespace ze_cpu
