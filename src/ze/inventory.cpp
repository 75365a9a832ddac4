// SPDX-License-Identifier: Apache-2.0
// Searches the loader's drivers and libze_cpu.so for devices.
#include "ze/inventory.hpp"

#include <algorithm>
#include <atomic>

#include "common/error.hpp"
#include "ze/query.hpp"
#include "ze/settled.hpp"

namespace zemm::ze {
namespace {

struct inventory {
    std::vector<found_device> gpus, cpus;
    absence no_gpu, no_cpu; // the reason if gpus, or cpus, is empty or incomplete
    bool lasts = true;      // false: a call failed for a reason that may pass, so search again
};

// The devices of libze_cpu.so, once they are known. Never dangling, as `settled` keeps its result
// for ever.
std::atomic<const inventory *> own_cpu{nullptr};

// The devices of one driver; none if it fails. result: of zeDeviceGet().
std::vector<ze_device_handle_t> handles_of(const api &fn, ze_driver_handle_t driver, ze_result_t &result) {
    uint32_t count = 0;
    result = fn.zeDeviceGet(driver, &count, nullptr);
    std::vector<ze_device_handle_t> handles(result == ZE_RESULT_SUCCESS ? count : 0);
    if (!handles.empty())
        result = fn.zeDeviceGet(driver, &count, handles.data());
    handles.resize(result == ZE_RESULT_SUCCESS ? std::min<size_t>(count, handles.size()) : 0);
    return handles;
}

void list_devices(const api &fn, inventory &list) {
    // A driver that fails must not hide the devices of the others, so only a lack of memory ends
    // the search.
    const auto works = [&](ze_result_t result, const char *call) {
        if (result == ZE_RESULT_SUCCESS)
            return true;
        if (is_out_of_memory(result))
            check(result, call);
        list.lasts = false;
        list.no_gpu = list.no_cpu = {zemm_runtime_error, text("%s returned %s", call, result_text(result))};
        return false;
    };
    uint32_t driver_count = 0;
    check(fn.zeDriverGet(&driver_count, nullptr), "zeDriverGet");
    std::vector<ze_driver_handle_t> drivers(driver_count);
    check(fn.zeDriverGet(&driver_count, drivers.data()), "zeDriverGet");
    drivers.resize(std::min<size_t>(driver_count, drivers.size()));
    for (ze_driver_handle_t driver : drivers) {
        ze_result_t result;
        const std::vector<ze_device_handle_t> handles = handles_of(fn, driver, result);
        works(result, "zeDeviceGet");
        for (ze_device_handle_t handle : handles) {
            auto properties = structure<ze_device_properties_t>(ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES);
            if (!works(fn.zeDeviceGetProperties(handle, &properties), "zeDeviceGetProperties"))
                continue;
            const zemm_engine_kind_t kind = kind_of(fn, driver, properties.type);
            if (kind == zemm_gpu)
                list.gpus.push_back({&fn, driver, handle});
            else if (kind == zemm_cpu)
                list.cpus.push_back({&fn, driver, handle});
        }
    }
}

// Searches with the functions fn. If fn is nullptr, the list is empty and why is the reason.
std::shared_ptr<inventory> make_list(const api *fn, const absence &why) {
    auto list = std::make_shared<inventory>();
    list->no_gpu = list->no_cpu = why;
    list->lasts = fn || why.lasts();
    try {
        if (fn)
            list_devices(*fn, *list);
    } catch (const error &e) {
        list->no_gpu = list->no_cpu = {e.status(), e.what()};
        list->lasts = false;
    }
    return list;
}

std::shared_ptr<const inventory> list_loader() {
    absence why;
    const api *fn = loader_api(why);
    if (fn)
        why.sentence =
            "the Level Zero loader reports no GPU: install the package intel-opencl-icd (Debian) or "
            "libze-intel-gpu1 (Ubuntu), and see to it that /dev/dri/renderD* exists and may be opened";
    return make_list(fn, why);
}

std::shared_ptr<const inventory> list_own_cpu() {
    absence why;
    const api *fn = cpu_driver_api(why);
    if (fn)
        why.sentence = "the Level Zero CPU driver libze_cpu.so reports no device";
    const std::shared_ptr<const inventory> list = make_list(fn, why);
    if (list->lasts)
        own_cpu = list.get();
    return list;
}

} // namespace

std::vector<found_device> devices_of(zemm_engine_kind_t kind, absence &why) {
    if (kind != zemm_cpu && kind != zemm_gpu)
        fail(zemm_invalid_arguments, "kind is %d: neither zemm_cpu (1) nor zemm_gpu (2)",
             static_cast<int>(kind));
    static auto &loader = *new settled<inventory>(list_loader);
    static auto &own = *new settled<inventory>(list_own_cpu);
    const std::shared_ptr<const inventory> list = loader.get();
    if (kind == zemm_gpu) {
        why = list->no_gpu;
        return list->gpus;
    }
    // If the loader ran out of memory, it may have CPU devices, so libze_cpu.so must not replace
    // them. After any other failure of the loader libze_cpu.so is used.
    if (!list->cpus.empty() || list->no_cpu.status == zemm_out_of_memory) {
        why = list->no_cpu;
        return list->cpus;
    }
    const std::shared_ptr<const inventory> of_driver = own.get();
    why = of_driver->no_cpu;
    return of_driver->cpus;
}

const api *own_cpu_api_of(ze_device_handle_t handle) {
    if (const inventory *list = own_cpu)
        for (const found_device &device : list->cpus)
            if (device.handle == handle)
                return device.fn;
    return nullptr;
}

} // namespace zemm::ze
