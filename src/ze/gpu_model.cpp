// SPDX-License-Identifier: Apache-2.0
// Asks a driver for the properties of a GPU and writes them as text.
#include "ze/gpu_model.hpp"

#include <algorithm>
#include <vector>

#include "common/error.hpp"
#include "ze/query.hpp"

namespace zemm::ze {
namespace {

// The layout of two extension structures that ze_api.h may not have. A property structure points to
// one in its pNext, and the driver writes the value.
struct extension_answer {
    uint32_t stype;
    const void *next;
    uint32_t value;
};
constexpr uint32_t ip_version_stype = 0x1000f; // ZE_STRUCTURE_TYPE_DEVICE_IP_VERSION_EXT
constexpr uint32_t module_dp_stype = 0x30013;  // ZE_STRUCTURE_INTEL_DEVICE_MODULE_DP_EXP_PROPERTIES
constexpr uint32_t dp4a_flag = 1, dpas_flag = 2;

uint64_t largest_cache(const api &fn, ze_device_handle_t device) {
    uint64_t largest = 0;
    const auto empty = structure<ze_device_cache_properties_t>(ZE_STRUCTURE_TYPE_DEVICE_CACHE_PROPERTIES);
    for (const auto &cache :
         all_properties_of(fn.zeDeviceGetCacheProperties, device, empty, "zeDeviceGetCacheProperties"))
        largest = std::max<uint64_t>(largest, cache.cacheSize);
    return largest;
}

uint64_t all_memories(const api &fn, ze_device_handle_t device) {
    uint64_t sum = 0;
    const auto empty = structure<ze_device_memory_properties_t>(ZE_STRUCTURE_TYPE_DEVICE_MEMORY_PROPERTIES);
    for (const auto &memory :
         all_properties_of(fn.zeDeviceGetMemoryProperties, device, empty, "zeDeviceGetMemoryProperties"))
        sum += memory.totalSize;
    return sum;
}

} // namespace

gpu_model gpu_model_of(const api &fn, ze_driver_handle_t driver, ze_device_handle_t device) {
    const auto extensions = extensions_of(fn, driver);
    extension_answer ip = {ip_version_stype, nullptr, 0};
    const bool reports_ip = extensions.contains("ZE_extension_device_ip_version");
    const auto properties =
        properties_of(fn.zeDeviceGetProperties, device, ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES,
                      "zeDeviceGetProperties", reports_ip ? &ip : nullptr);
    const ip_version version =
        ip.value ? ip_version{ip.value} : ip_of_device_id(properties.vendorId, properties.deviceId);

    gpu_model model = {};
    static_cast<gpu_row &>(model) = row_of(version);
    model.ip = version;
    model.xe_cores = properties.numSlices * properties.numSubslicesPerSlice;
    model.xves_per_core = properties.numEUsPerSubslice;
    model.clock_mhz = properties.coreClockRate;
    model.l2_bytes = largest_cache(fn, device);
    model.memory_bytes = all_memories(fn, device);
    model.max_alloc_bytes = properties.maxMemAllocSize;

    extension_answer dp = {module_dp_stype, nullptr, 0};
    const bool reports_dp = extensions.contains("ZE_intel_experimental_device_module_dp_properties");
    const auto module_properties =
        properties_of(fn.zeDeviceGetModuleProperties, device, ZE_STRUCTURE_TYPE_DEVICE_MODULE_PROPERTIES,
                      "zeDeviceGetModuleProperties", reports_dp ? &dp : nullptr);
    // Every GPU from Xe-LP on has DP4A, but not every driver sets one of the flags.
    model.dp4a = module_properties.flags & ZE_DEVICE_MODULE_FLAG_DP4A || dp.value & dp4a_flag ||
                 model.family >= gpu_family::xe_lp;
    model.xmx = reports_dp ? dp.value & dpas_flag : model.xmx_int8_ops != 0;

    const auto compute =
        properties_of(fn.zeDeviceGetComputeProperties, device, ZE_STRUCTURE_TYPE_DEVICE_COMPUTE_PROPERTIES,
                      "zeDeviceGetComputeProperties");
    model.slm_per_group = compute.maxSharedLocalMemory;
    if (model.sub_group == 0 && compute.numSubGroupSizes != 0) {
        const uint32_t *sizes = compute.subGroupSizes;
        const uint32_t count = std::min<uint32_t>(compute.numSubGroupSizes, ZE_SUBGROUPSIZE_COUNT);
        model.sub_group = *std::min_element(sizes, sizes + count);
    }
    return model;
}

std::string gpu_model::text() const {
    std::string line = zemm::text("family=%s,name=%s", family_name(family), name);
    if (ip.value)
        line += ",ip=" + ip.text();
    line += zemm::text(",xe_cores=%u,xves_per_core=%u,sub_group=%u", xe_cores, xves_per_core, sub_group);
    const auto add = [&](const char *key, uint64_t value) {
        if (value) // else it does not apply, or is not known
            line += zemm::text(",%s=%llu", key, (unsigned long long)value);
    };
    if (xmx) {
        add("xmx_int8_ops", xmx_int8_ops);
        add("xmx_f16_ops", xmx_f16_ops);
    }
    add("grf_bytes", grf_bytes);
    add("threads_128", threads_128);
    add("threads_256", threads_256);
    add("slm_per_core", slm_per_core);
    add("slm_per_group", slm_per_group);
    add("l1_per_core", l1_per_core);
    add("l2_bytes", l2_bytes);
    add("clock_mhz", clock_mhz);
    add("memory_bytes", memory_bytes);
    add("max_alloc_bytes", max_alloc_bytes);
    return line;
}

} // namespace zemm::ze
