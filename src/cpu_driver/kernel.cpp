// SPDX-License-Identifier: Apache-2.0
#include "kernel.h"

#include <algorithm>
#include <cstring>

#include "border.h"
#include "entry_points.h"
#include "image.h"
#include "runtime.h"
#include "sampler.h"

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

bool has_required_size(const KernelInfo &info) {
    return info.required_group_size[0] != 0;
}

size_t max_group_size(ze_kernel_handle_t kernel) {
    size_t limit = work_group_value<size_t>(kernel->object->get(), cl::kernel_work_group_size);
    return limit ? std::min(limit, runtime().info.max_group_size) : runtime().info.max_group_size;
}

/// Stores OpenCL's handle of an image or sampler, and keeps it.
template <class Handle, class Get>
ze_result_t set_object(ze_kernel_handle_t kernel, uint32_t arg, size_t size, const void *value, Get get) {
    if (size != sizeof(Handle))
        return ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE;
    Handle handle = nullptr;
    if (value)
        std::memcpy(&handle, value, sizeof handle);
    if (!handle)
        return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    return guarded([&] {
        ArgValues &args = kernel->args;
        args.kept.resize(args.is_set.size());
        const auto object = get(handle);
        const auto opencl_handle = object->get();
        args.kept[arg] = object;
        std::memcpy(args.bytes.data() + kernel->object->offset(arg), &opencl_handle, sizeof opencl_handle);
        args.is_set[arg] = 1;
        return ZE_RESULT_SUCCESS;
    });
}

} // namespace

ze_result_t zeKernelCreate(ze_module_handle_t hModule, const ze_kernel_desc_t *desc,
                           ze_kernel_handle_t *phKernel) {
    ZE_CPU_NEED_HANDLE(hModule);
    ZE_CPU_NEED_POINTER(desc);
    ZE_CPU_NEED_POINTER(desc->pKernelName);
    ZE_CPU_NEED_POINTER(phKernel);
    return guarded([&]() -> ze_result_t {
        const BuiltModule &built = *hModule->built;
        auto info = std::find_if(built.kernels.begin(), built.kernels.end(),
                                 [&](const KernelInfo &k) { return k.name == desc->pKernelName; });
        if (info == built.kernels.end())
            return ZE_RESULT_ERROR_INVALID_KERNEL_NAME;
        for (const ArgInfo &arg : info->args)
            if (arg.kind == ArgKind::opaque)
                return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
        cl::Int status = cl::success;
        cl::Kernel kernel = opencl().clCreateKernel(built.program.get(), desc->pKernelName, &status);
        if (!kernel)
            return status == cl::out_of_host_memory ? ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY
                                                    : ZE_RESULT_ERROR_INVALID_KERNEL_NAME;
        auto handle = std::make_unique<_ze_kernel_handle_t>();
        handle->object = std::make_shared<KernelObject>(hModule->built, *info, kernel);
        handle->args.bytes.resize(handle->object->total_size());
        handle->args.is_set.resize(info->args.size());
        if (has_required_size(*info))
            handle->group_size = info->required_group_size;
        *phKernel = handle.release();
        return ZE_RESULT_SUCCESS;
    });
}

ze_result_t zeKernelDestroy(ze_kernel_handle_t hKernel) {
    ZE_CPU_NEED_HANDLE(hKernel);
    delete hKernel; // launches still under way hold the KernelObject
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeKernelSetArgumentValue(ze_kernel_handle_t hKernel, uint32_t argIndex, size_t argSize,
                                     const void *pArgValue) {
    ZE_CPU_NEED_HANDLE(hKernel);
    const KernelObject &object = *hKernel->object;
    if (argIndex >= object.info().args.size())
        return ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_INDEX;
    const ArgInfo &arg = object.info().args[argIndex];
    uint8_t *to = hKernel->args.bytes.data() + object.offset(argIndex);
    if (arg.kind == ArgKind::local) {
        if (argSize > runtime().info.local_size) // 0: the kernel does not use it
            return ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE;
        if (pArgValue)
            return ZE_RESULT_ERROR_INVALID_ARGUMENT;
        const uint64_t size = argSize;
        std::memcpy(to, &size, sizeof size);
    } else if (arg.kind == ArgKind::image) {
        return set_object<ze_image_handle_t>(hKernel, argIndex, argSize, pArgValue,
                                             [](ze_image_handle_t h) { return h->image; });
    } else if (arg.kind == ArgKind::sampler) {
        return set_object<ze_sampler_handle_t>(hKernel, argIndex, argSize, pArgValue,
                                               [](ze_sampler_handle_t h) { return h->sampler; });
    } else {
        if (argSize != arg.size)
            return ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE;
        if (pArgValue)
            std::memcpy(to, pArgValue, argSize);
        else
            std::memset(to, 0, argSize);
    }
    hKernel->args.is_set[argIndex] = 1;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeKernelSetGroupSize(ze_kernel_handle_t hKernel, uint32_t x, uint32_t y, uint32_t z) {
    ZE_CPU_NEED_HANDLE(hKernel);
    const std::array<uint32_t, 3> size{x, y, z};
    const auto &limits = runtime().info.max_group_sizes;
    for (int i = 0; i < 3; i++)
        if (size[i] == 0 || size[i] > limits[i])
            return ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION;
    if (size == hKernel->group_size)
        return ZE_RESULT_SUCCESS;
    if (uint64_t(x) * y > max_group_size(hKernel) || uint64_t(x) * y * z > max_group_size(hKernel))
        return ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION;
    const KernelInfo &info = hKernel->object->info();
    if (has_required_size(info) && size != info.required_group_size)
        return ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION;
    hKernel->group_size = size;
    return ZE_RESULT_SUCCESS;
}

/// Largest divisors of the global size that keep the group within 256 items: enough to amortise the start of
/// a group on a CPU, few enough that all threads get some. A kernel with a required size gets that.
ze_result_t zeKernelSuggestGroupSize(ze_kernel_handle_t hKernel, uint32_t globalSizeX, uint32_t globalSizeY,
                                     uint32_t globalSizeZ, uint32_t *groupSizeX, uint32_t *groupSizeY,
                                     uint32_t *groupSizeZ) {
    ZE_CPU_NEED_HANDLE(hKernel);
    ZE_CPU_NEED_POINTER(groupSizeX);
    ZE_CPU_NEED_POINTER(groupSizeY);
    ZE_CPU_NEED_POINTER(groupSizeZ);
    const std::array<uint32_t, 3> global{globalSizeX, globalSizeY, globalSizeZ};
    if (!globalSizeX || !globalSizeY || !globalSizeZ)
        return ZE_RESULT_ERROR_INVALID_GLOBAL_WIDTH_DIMENSION;
    const KernelInfo &info = hKernel->object->info();
    std::array<uint32_t, 3> group = info.required_group_size;
    if (!has_required_size(info)) {
        size_t room = std::min<size_t>(256, max_group_size(hKernel));
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
    ZE_CPU_NEED_HANDLE(hKernel);
    constexpr uint32_t known = ZE_KERNEL_INDIRECT_ACCESS_FLAG_HOST | ZE_KERNEL_INDIRECT_ACCESS_FLAG_DEVICE |
                               ZE_KERNEL_INDIRECT_ACCESS_FLAG_SHARED;
    if (flags & ~known)
        return ZE_RESULT_ERROR_INVALID_ENUMERATION;
    hKernel->indirect_access = flags; // all memory is visible to kernels anyway
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeKernelGetIndirectAccess(ze_kernel_handle_t hKernel, ze_kernel_indirect_access_flags_t *pFlags) {
    ZE_CPU_NEED_HANDLE(hKernel);
    ZE_CPU_NEED_POINTER(pFlags);
    *pFlags = hKernel->indirect_access;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeKernelGetSourceAttributes(ze_kernel_handle_t hKernel, uint32_t *pSize, char **pString) {
    ZE_CPU_NEED_HANDLE(hKernel);
    ZE_CPU_NEED_POINTER(pSize);
    return guarded([&]() -> ze_result_t {
        std::string &text = hKernel->source_attributes;
        size_t size = 0;
        const cl::Api &api = opencl();
        if (text.empty() && api.clGetKernelInfo(hKernel->object->get(), cl::kernel_attributes, 0, nullptr,
                                                &size) == cl::success) {
            std::string found(size, '\0');
            if (api.clGetKernelInfo(hKernel->object->get(), cl::kernel_attributes, size, found.data(),
                                    nullptr) == cl::success)
                text = found.c_str();
        }
        if (pString)
            *pString = text.data(); // belongs to the kernel, so the caller gets a pointer and no copy
        *pSize = uint32_t(text.size() + 1);
        return ZE_RESULT_SUCCESS;
    });
}

ze_result_t zeKernelSetCacheConfig(ze_kernel_handle_t hKernel, ze_cache_config_flags_t flags) {
    ZE_CPU_NEED_HANDLE(hKernel);
    if (flags & ~uint32_t(ZE_CACHE_CONFIG_FLAG_LARGE_SLM | ZE_CACHE_CONFIG_FLAG_LARGE_DATA))
        return ZE_RESULT_ERROR_INVALID_ENUMERATION;
    return ZE_RESULT_SUCCESS; // a hint, without meaning here
}

ze_result_t zeKernelGetProperties(ze_kernel_handle_t hKernel, ze_kernel_properties_t *p) {
    ZE_CPU_NEED_HANDLE(hKernel);
    ZE_CPU_NEED_POINTER(p);
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
    p->localMemSize = uint32_t(work_group_value<cl::Ulong>(kernel, cl::kernel_local_mem_size));
    p->privateMemSize = uint32_t(work_group_value<cl::Ulong>(kernel, cl::kernel_private_mem_size));
    p->spillMemSize = 0;
    // Identifies kernel and module within the process.
    std::memset(&p->uuid, 0, sizeof p->uuid);
    const uint64_t kernel_id = uint64_t(reinterpret_cast<uintptr_t>(&info));
    const uint64_t module_id = uint64_t(reinterpret_cast<uintptr_t>(hKernel->object->module()));
    std::memcpy(p->uuid.kid, &kernel_id, sizeof kernel_id);
    std::memcpy(p->uuid.mid, &module_id, sizeof module_id);
    for (auto *next = static_cast<ze_base_properties_t *>(p->pNext); next;
         next = static_cast<ze_base_properties_t *>(next->pNext))
        if (next->stype == ZE_STRUCTURE_TYPE_KERNEL_PREFERRED_GROUP_SIZE_PROPERTIES)
            reinterpret_cast<ze_kernel_preferred_group_size_properties_t *>(next)->preferredMultiple =
                uint32_t(work_group_value<size_t>(kernel, cl::kernel_preferred_work_group_size_multiple));
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeKernelGetName(ze_kernel_handle_t hKernel, size_t *pSize, char *pName) {
    ZE_CPU_NEED_HANDLE(hKernel);
    ZE_CPU_NEED_POINTER(pSize);
    const std::string &name = hKernel->object->info().name;
    if (pName) {
        if (*pSize < name.size() + 1)
            return ZE_RESULT_ERROR_INVALID_SIZE;
        std::memcpy(pName, name.c_str(), name.size() + 1);
    }
    *pSize = name.size() + 1;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeKernelSetGlobalOffsetExp(ze_kernel_handle_t hKernel, uint32_t x, uint32_t y, uint32_t z) {
    ZE_CPU_NEED_HANDLE(hKernel);
    hKernel->global_offset = {x, y, z};
    return ZE_RESULT_SUCCESS;
}

} // namespace ze_cpu
