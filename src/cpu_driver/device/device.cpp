// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "border/border.h"
#include "border/entry_points.h"
#include "border/hash.h"
#include "handles.h"
#include "opencl/runtime.h"

namespace ze_cpu {
namespace {

constexpr uint32_t max_groups = UINT32_MAX;

template <class T> uint32_t clamp32(T value) {
    return uint32_t(std::min<uint64_t>(value, UINT32_MAX));
}

/// Stable for a device and an OpenCL runtime: one half is a hash of the device's name, the other a
/// hash of the runtime's version.
void make_uuid(const DeviceInfo &d, uint8_t (&id)[ZE_MAX_DEVICE_UUID_SIZE]) {
    const uint64_t halves[2] = {hash_of("ze_cpu " + d.name), hash_of(d.driver_version)};
    std::memcpy(id, halves, sizeof id);
}

ze_device_fp_flags_t fp_flags(uint64_t opencl_bits) {
    constexpr std::pair<uint64_t, uint32_t> table[] = {
        {cl::fp_denorm, ZE_DEVICE_FP_FLAG_DENORM},
        {cl::fp_inf_nan, ZE_DEVICE_FP_FLAG_INF_NAN},
        {cl::fp_round_to_nearest, ZE_DEVICE_FP_FLAG_ROUND_TO_NEAREST},
        {cl::fp_round_to_zero, ZE_DEVICE_FP_FLAG_ROUND_TO_ZERO},
        {cl::fp_round_to_inf, ZE_DEVICE_FP_FLAG_ROUND_TO_INF},
        {cl::fp_fma, ZE_DEVICE_FP_FLAG_FMA},
        {cl::fp_soft_float, ZE_DEVICE_FP_FLAG_SOFT_FLOAT},
        {cl::fp_correctly_rounded_divide_sqrt, ZE_DEVICE_FP_FLAG_ROUNDED_DIVIDE_SQRT},
    };
    ze_device_fp_flags_t flags = 0;
    for (auto [from, to] : table)
        if (opencl_bits & from)
            flags |= to;
    return flags;
}

/// The atomics of a floating-point type. OpenCL's bits are those of Level Zero.
ze_device_fp_atomic_ext_flags_t float_atomics(cl::Uint key) {
    return runtime().info.has("cl_ext_float_atomics")
               ? ze_device_fp_atomic_ext_flags_t(device_value<cl::Ulong>(runtime(), key))
               : 0;
}

/// Fills those structures in the chain `next` that this driver knows.
void describe_extensions(void *next) {
    if (auto *timestamps = find_next<KernelTimestampsProperties>(next, KernelTimestampsProperties::type))
        timestamps->flags = KernelTimestampsProperties::kernel | KernelTimestampsProperties::synchronized;
    if (auto *readonly = find_next<ReadonlyMemoryProperties>(next, ReadonlyMemoryProperties::type))
        readonly->capability = ReadonlyMemoryProperties::enforced;
    if (auto *hints = find_next<ze_scheduling_hint_exp_properties_t>(
            next, ZE_STRUCTURE_TYPE_SCHEDULING_HINT_EXP_PROPERTIES))
        hints->schedulingHintFlags = 0;
    if (auto *atomics = find_next<ze_float_atomic_ext_properties_t>(
            next, ZE_STRUCTURE_TYPE_FLOAT_ATOMIC_EXT_PROPERTIES)) {
        atomics->fp16Flags = float_atomics(cl::device_half_fp_atomic_capabilities);
        atomics->fp32Flags = float_atomics(cl::device_single_fp_atomic_capabilities);
        atomics->fp64Flags = float_atomics(cl::device_double_fp_atomic_capabilities);
    }
}

/// Vector widths in elements.
VectorWidths::Set widths(cl::Uint of_char, cl::Uint of_half) {
    auto width = [](cl::Uint key) { return device_value<cl::Uint>(runtime(), key); };
    return {width(of_char),     width(of_char + 1), width(of_char + 2), width(of_char + 3),
            width(of_char + 4), width(of_char + 5), width(of_half)};
}

} // namespace

ze_result_t zeDeviceGet(ze_driver_handle_t hDriver, uint32_t *pCount, ze_device_handle_t *phDevices) {
    need_handles(hDriver);
    return answer_list(1, pCount, phDevices,
                       [](uint32_t, ze_device_handle_t &handle) { handle = the_device(); });
}

ze_result_t zeDeviceGetSubDevices(ze_device_handle_t hDevice, uint32_t *pCount, ze_device_handle_t *) {
    need_handles(hDevice);
    need_pointers(pCount);
    *pCount = 0;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeDeviceGetRootDevice(ze_device_handle_t hDevice, ze_device_handle_t *phRootDevice) {
    need_handles(hDevice);
    need_pointers(phRootDevice);
    *phRootDevice = nullptr; // the device is a root device itself
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeDeviceGetProperties(ze_device_handle_t hDevice, ze_device_properties_t *p) {
    need_handles(hDevice);
    need_pointers(p);
    const DeviceInfo &d = runtime().info;
    p->type = answers_as_gpu() ? ZE_DEVICE_TYPE_GPU : ZE_DEVICE_TYPE_CPU;
    p->vendorId = d.vendor_id;
    p->deviceId = 0;
    p->flags = ZE_DEVICE_PROPERTY_FLAG_INTEGRATED | ZE_DEVICE_PROPERTY_FLAG_ONDEMANDPAGING;
    p->subdeviceId = 0;
    p->coreClockRate = d.clock_mhz;
    p->maxMemAllocSize = d.max_alloc_size;
    p->maxHardwareContexts = 1024;
    p->maxCommandQueuePriority = 0;
    // Level Zero describes a GPU here. The product of the four counts is the number of compute
    // units.
    p->numThreadsPerEU = 1;
    p->physicalEUSimdWidth = d.vector_width_int;
    p->numEUsPerSubslice = 1;
    p->numSubslicesPerSlice = d.compute_units;
    p->numSlices = 1;
    // A tick is a nanosecond. The original structure wants nanoseconds per cycle, that of version
    // 1.2 cycles per second.
    p->timerResolution = p->stype == ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2 ? 1000000000u : 1u;
    p->timestampValidBits = 64;
    p->kernelTimestampValidBits = 64;
    make_uuid(d, p->uuid.id);
    std::strncpy(p->name, d.name.c_str(), sizeof p->name - 1);
    p->name[sizeof p->name - 1] = '\0';
    describe_extensions(p->pNext);
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeDeviceGetComputeProperties(ze_device_handle_t hDevice, ze_device_compute_properties_t *p) {
    need_handles(hDevice);
    need_pointers(p);
    const DeviceInfo &d = runtime().info;
    p->maxTotalGroupSize = clamp32(d.max_group_size);
    p->maxGroupSizeX = clamp32(d.max_group_sizes[0]);
    p->maxGroupSizeY = clamp32(d.max_group_sizes[1]);
    p->maxGroupSizeZ = clamp32(d.max_group_sizes[2]);
    p->maxGroupCountX = p->maxGroupCountY = p->maxGroupCountZ = max_groups;
    p->maxSharedLocalMemory = clamp32(d.local_size);
    p->numSubGroupSizes = uint32_t(std::min<size_t>(d.sub_group_sizes.size(), ZE_SUBGROUPSIZE_COUNT));
    for (uint32_t i = 0; i < ZE_SUBGROUPSIZE_COUNT; i++)
        p->subGroupSizes[i] = i < p->numSubGroupSizes ? uint32_t(d.sub_group_sizes[i]) : 0;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeDeviceGetModuleProperties(ze_device_handle_t hDevice, ze_device_module_properties_t *p) {
    need_handles(hDevice);
    need_pointers(p);
    const DeviceInfo &d = runtime().info;
    p->spirvVersionSupported = d.spirv_version;
    p->flags = 0;
    if (d.fp16)
        p->flags |= ZE_DEVICE_MODULE_FLAG_FP16;
    if (d.fp64)
        p->flags |= ZE_DEVICE_MODULE_FLAG_FP64;
    if (d.has("cl_khr_int64_base_atomics") && d.has("cl_khr_int64_extended_atomics"))
        p->flags |= ZE_DEVICE_MODULE_FLAG_INT64_ATOMICS;
    if (d.has("cl_khr_integer_dot_product"))
        p->flags |= ZE_DEVICE_MODULE_FLAG_DP4A;
    p->fp16flags = fp_flags(d.fp16);
    p->fp32flags = fp_flags(d.fp32);
    p->fp64flags = fp_flags(d.fp64);
    p->maxArgumentsSize = clamp32(d.max_parameter_size);
    p->printfBufferSize = clamp32(d.printf_buffer_size);
    std::memset(&p->nativeKernelSupported, 0, sizeof p->nativeKernelSupported);
    static_assert(sizeof p->nativeKernelSupported.id == ZE_MAX_DEVICE_UUID_SIZE);
    make_uuid(d, p->nativeKernelSupported.id);
    describe_extensions(p->pNext);
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeDeviceGetCommandQueueGroupProperties(ze_device_handle_t hDevice, uint32_t *pCount,
                                                   ze_command_queue_group_properties_t *properties) {
    need_handles(hDevice);
    return answer_list(1, pCount, properties, [](uint32_t, ze_command_queue_group_properties_t &p) {
        p.flags = ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE | ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY |
                  ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COOPERATIVE_KERNELS;
        p.maxMemoryFillPatternSize = 128;
        p.numQueues = 1;
    });
}

ze_result_t zeDeviceGetMemoryProperties(ze_device_handle_t hDevice, uint32_t *pCount,
                                        ze_device_memory_properties_t *pMemProperties) {
    need_handles(hDevice);
    return answer_list(1, pCount, pMemProperties, [](uint32_t, ze_device_memory_properties_t &p) {
        p.flags = 0;
        p.maxClockRate = 0;
        p.maxBusWidth = 64;
        p.totalSize = runtime().info.global_size;
        std::strncpy(p.name, "system memory", sizeof p.name);
    });
}

ze_result_t zeDeviceGetMemoryAccessProperties(ze_device_handle_t hDevice,
                                              ze_device_memory_access_properties_t *p) {
    need_handles(hDevice);
    need_pointers(p);
    constexpr uint32_t everything = ZE_MEMORY_ACCESS_CAP_FLAG_RW | ZE_MEMORY_ACCESS_CAP_FLAG_ATOMIC |
                                    ZE_MEMORY_ACCESS_CAP_FLAG_CONCURRENT |
                                    ZE_MEMORY_ACCESS_CAP_FLAG_CONCURRENT_ATOMIC;
    p->hostAllocCapabilities = everything;
    p->deviceAllocCapabilities = everything;
    p->sharedSingleDeviceAllocCapabilities = everything;
    p->sharedCrossDeviceAllocCapabilities = 0;
    p->sharedSystemAllocCapabilities = everything; // kernels take pointers from malloc
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeDeviceGetCacheProperties(ze_device_handle_t hDevice, uint32_t *pCount,
                                       ze_device_cache_properties_t *pCacheProperties) {
    need_handles(hDevice);
    return answer_list(1, pCount, pCacheProperties, [](uint32_t, ze_device_cache_properties_t &p) {
        p.flags = 0;
        p.cacheSize = runtime().info.cache_size;
    });
}

ze_result_t zeDeviceGetExternalMemoryProperties(ze_device_handle_t hDevice,
                                                ze_device_external_memory_properties_t *p) {
    need_handles(hDevice);
    need_pointers(p);
    p->memoryAllocationImportTypes = p->memoryAllocationExportTypes = ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_FD;
    p->imageImportTypes = p->imageExportTypes = 0;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeDeviceGetP2PProperties(ze_device_handle_t hDevice, ze_device_handle_t hPeerDevice,
                                     ze_device_p2p_properties_t *pP2PProperties) {
    need_handles(hDevice, hPeerDevice);
    need_pointers(pP2PProperties);
    pP2PProperties->flags =
        hDevice == hPeerDevice ? ZE_DEVICE_P2P_PROPERTY_FLAG_ACCESS | ZE_DEVICE_P2P_PROPERTY_FLAG_ATOMICS : 0;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeDeviceCanAccessPeer(ze_device_handle_t hDevice, ze_device_handle_t hPeerDevice,
                                  ze_bool_t *value) {
    need_handles(hDevice, hPeerDevice);
    need_pointers(value);
    *value = hDevice == hPeerDevice;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeDeviceGetStatus(ze_device_handle_t hDevice) {
    need_handles(hDevice);
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeDeviceGetGlobalTimestamps(ze_device_handle_t hDevice, uint64_t *hostTimestamp,
                                        uint64_t *deviceTimestamp) {
    need_handles(hDevice);
    need_pointers(hostTimestamp, deviceTimestamp);
    *hostTimestamp = *deviceTimestamp = timestamp_now(); // host and device have one clock
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeDeviceGetVectorWidthPropertiesExt(ze_device_handle_t hDevice, uint32_t *pCount,
                                                VectorWidths *pVectorWidthProperties) {
    need_handles(hDevice);
    return answer_list(1, pCount, pVectorWidthProperties, [](uint32_t, VectorWidths &to) {
        to.size = runtime().info.vector_width_int;
        to.preferred = widths(cl::device_preferred_vector_width_char, cl::device_preferred_vector_width_half);
        to.native = widths(cl::device_native_vector_width_char, cl::device_native_vector_width_half);
    });
}

} // namespace ze_cpu
