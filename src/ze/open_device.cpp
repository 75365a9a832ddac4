// SPDX-License-Identifier: Apache-2.0
// Opens devices and reads their properties from the driver.
#include "ze/device.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <vector>

#include "common/error.hpp"
#include "ze/cpu_threads.hpp"
#include "ze/inventory.hpp"
#include "ze/module_cache.hpp"
#include "ze/query.hpp"

namespace zemm::ze {
namespace {

zemm_engine_kind_t engine_kind(const api &fn, ze_driver_handle_t driver, ze_device_handle_t handle) {
    const auto properties = properties_of(fn.zeDeviceGetProperties, handle,
                                          ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES, "zeDeviceGetProperties");
    const zemm_engine_kind_t kind = kind_of(fn, driver, properties.type);
    if (kind != zemm_any_engine)
        return kind;
    fail(zemm_invalid_arguments,
         "device \"%s\" has the type %d: neither ZE_DEVICE_TYPE_GPU (1) nor ZE_DEVICE_TYPE_CPU (2)",
         properties.name, static_cast<int>(properties.type));
}

owned_context new_context(const api &fn, ze_driver_handle_t driver) {
    auto desc = structure<ze_context_desc_t>(ZE_STRUCTURE_TYPE_CONTEXT_DESC);
    ze_context_handle_t context = nullptr;
    check(fn.zeContextCreate(driver, &desc, &context), "zeContextCreate");
    return {fn, context};
}

// Nanoseconds of one timestamp tick. timerResolution is in ticks per second if the driver has Level
// Zero 1.2 and is asked with the structure type of 1.2, else in nanoseconds per tick.
double tick_ns(const device &dev) {
    const auto properties = properties_of(dev.fn.zeDeviceGetProperties, dev.handle,
                                          dev.has_api(2) ? ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2
                                                         : ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES,
                                          "zeDeviceGetProperties");
    const auto resolution = static_cast<double>(properties.timerResolution);
    if (resolution <= 0)
        return 1.0;
    return dev.has_api(2) ? 1e9 / resolution : resolution;
}

uint32_t first_compute_group(const device &dev) {
    const auto groups = all_properties_of(
        dev.fn.zeDeviceGetCommandQueueGroupProperties, dev.handle,
        structure<ze_command_queue_group_properties_t>(ZE_STRUCTURE_TYPE_COMMAND_QUEUE_GROUP_PROPERTIES),
        "zeDeviceGetCommandQueueGroupProperties");
    for (size_t i = 0; i < groups.size(); i++)
        if (groups[i].flags & ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE)
            return uint32_t(i);
    fail(zemm_runtime_error, "device \"%s\" has no queue that runs kernels (%zu queue groups)",
         dev.name.c_str(), groups.size());
}

std::string hex(std::span<const uint8_t> bytes) {
    std::string digits;
    for (const uint8_t byte : bytes)
        digits += text("%02x", byte);
    return digits;
}

std::string identity_of(const ze_device_properties_t &d, const ze_driver_properties_t &driver,
                        const feature_set &features) {
    return text("%d|%s|%x|%x|%s|%u.%u.%u.%u.%u|%s|%x|%s", static_cast<int>(d.type), d.name, d.vendorId,
                d.deviceId, hex(d.uuid.id).c_str(), d.numSlices, d.numSubslicesPerSlice, d.numEUsPerSubslice,
                d.numThreadsPerEU, d.physicalEUSimdWidth, features.names().c_str(), driver.driverVersion,
                hex(driver.uuid.id).c_str());
}

} // namespace

device::device(const api &fn, ze_driver_handle_t driver, ze_device_handle_t handle, owned_context own,
               ze_context_handle_t context)
    : own_context_(std::move(own)), fn(fn), driver(driver), handle(handle), context(context),
      kind(engine_kind(fn, driver, handle)),
      model(kind == zemm_gpu ? gpu_model_of(fn, driver, handle) : gpu_model()),
      model_text(kind == zemm_gpu ? model.text() : ""),
      all_features(kind == zemm_gpu ? gpu_features(model) : cpu_features(fn, driver)),
      features(masked(all_features)), feature_names(features.names()),
      modules(std::make_unique<module_cache>()) {
    if (kind == zemm_cpu)
        warn_of_thread_variables();
    const auto properties = properties_of(fn.zeDeviceGetProperties, handle,
                                          ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES, "zeDeviceGetProperties");
    name = properties.name;
    max_allocation = properties.maxMemAllocSize;
    compute_units =
        std::max(1u, properties.numSlices * properties.numSubslicesPerSlice * properties.numEUsPerSubslice);
    const uint32_t bits = properties.kernelTimestampValidBits;
    timestamp_mask = bits == 0 || bits >= 64 ? ~0ull : (1ull << bits) - 1;

    const auto driver_properties = properties_of(
        fn.zeDriverGetProperties, driver, ZE_STRUCTURE_TYPE_DRIVER_PROPERTIES, "zeDriverGetProperties");
    identity = identity_of(properties, driver_properties, all_features);
    ze_api_version_t version = {};
    check(fn.zeDriverGetApiVersion(driver, &version), "zeDriverGetApiVersion");
    api_version = static_cast<uint32_t>(version);
    timestamp_period_ns = tick_ns(*this);
    compute_queue_ordinal = first_compute_group(*this);

    const auto compute =
        properties_of(fn.zeDeviceGetComputeProperties, handle, ZE_STRUCTURE_TYPE_DEVICE_COMPUTE_PROPERTIES,
                      "zeDeviceGetComputeProperties");
    max_group_size = compute.maxTotalGroupSize;

    const auto module_properties =
        properties_of(fn.zeDeviceGetModuleProperties, handle, ZE_STRUCTURE_TYPE_DEVICE_MODULE_PROPERTIES,
                      "zeDeviceGetModuleProperties");
    max_argument_size = module_properties.maxArgumentsSize;
    has_f64 = module_properties.flags & ZE_DEVICE_MODULE_FLAG_FP64;

    const auto access =
        properties_of(fn.zeDeviceGetMemoryAccessProperties, handle,
                      ZE_STRUCTURE_TYPE_DEVICE_MEMORY_ACCESS_PROPERTIES, "zeDeviceGetMemoryAccessProperties");
    host_pointers = access.sharedSystemAllocCapabilities & ZE_MEMORY_ACCESS_CAP_FLAG_RW;
}

device::~device() = default;

namespace {

// Throws for a failed search that may succeed next time.
[[noreturn]] void fail_for_now(const absence &why, zemm_engine_kind_t kind) {
    fail(why.status, "no %s device could be opened this time: %s", kind == zemm_cpu ? "cpu" : "gpu",
         why.sentence.c_str());
}

} // namespace

size_t device_count(zemm_engine_kind_t kind, std::string &why) {
    absence reason;
    const size_t count = devices_of(kind, reason).size();
    if (count == 0 && !reason.lasts())
        fail_for_now(reason, kind);
    why = reason.sentence;
    return count;
}

std::shared_ptr<device> open_device(zemm_engine_kind_t kind, size_t index) {
    absence why;
    const std::vector<found_device> found = devices_of(kind, why);
    const char *kind_name = kind == zemm_cpu ? "cpu" : "gpu";
    if (index >= found.size() && !why.lasts())
        fail_for_now(why, kind);
    if (found.empty())
        fail(zemm_invalid_arguments, "index is %zu, but there is no %s device: %s", index, kind_name,
             why.sentence.c_str());
    if (index >= found.size())
        fail(zemm_invalid_arguments, "index is %zu, but there %s %zu %s device%s", index,
             found.size() == 1 ? "is" : "are", found.size(), kind_name, found.size() == 1 ? "" : "s");

    static auto &lock = *new std::mutex;
    static auto &open = *new std::map<ze_device_handle_t, std::shared_ptr<device>>;
    std::lock_guard hold(lock);
    std::shared_ptr<device> &entry = open[found[index].handle];
    if (!entry) {
        const found_device &d = found[index];
        owned_context own = new_context(*d.fn, d.driver);
        const ze_context_handle_t context = own.get();
        entry.reset(new device(*d.fn, d.driver, d.handle, std::move(own), context));
    }
    return entry;
}

const api &api_of(ze_device_handle_t handle) {
    if (const api *own = own_cpu_api_of(handle))
        return *own;
    absence why;
    const api *loader = loader_api(why);
    if (!loader)
        fail(why.lasts() ? zemm_runtime_error : why.status, "%s", why.sentence.c_str());
    return *loader;
}

std::shared_ptr<device> adopt_device(ze_driver_handle_t driver, ze_device_handle_t handle,
                                     ze_context_handle_t context) {
    return std::shared_ptr<device>(new device(api_of(handle), driver, handle, {}, context));
}

} // namespace zemm::ze
