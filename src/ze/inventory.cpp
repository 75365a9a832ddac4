// SPDX-License-Identifier: Apache-2.0
#include "ze/inventory.hpp"

#include <atomic>

#include "common/error.hpp"
#include "ze/kind.hpp"

namespace zemm::ze {
namespace {

// Set once the CPU driver has been opened. Like all lists here it is never destroyed.
std::atomic<const inventory *> own_cpu{nullptr};

void list_devices(const api &fn, inventory &list) {
    uint32_t driver_count = 0;
    check(fn.zeDriverGet(&driver_count, nullptr), "zeDriverGet");
    std::vector<ze_driver_handle_t> drivers(driver_count);
    check(fn.zeDriverGet(&driver_count, drivers.data()), "zeDriverGet");
    drivers.resize(driver_count);
    for (ze_driver_handle_t driver : drivers) {
        // One driver that fails must not hide the devices of the others.
        uint32_t count = 0;
        if (fn.zeDeviceGet(driver, &count, nullptr) != ZE_RESULT_SUCCESS || !count)
            continue;
        std::vector<ze_device_handle_t> handles(count);
        if (fn.zeDeviceGet(driver, &count, handles.data()) != ZE_RESULT_SUCCESS)
            continue;
        handles.resize(count);
        for (ze_device_handle_t handle : handles) {
            ze_device_properties_t properties = {};
            properties.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES;
            if (fn.zeDeviceGetProperties(handle, &properties) != ZE_RESULT_SUCCESS)
                continue;
            const zemm_engine_kind_t kind = kind_of(fn, driver, properties.type);
            if (kind == zemm_gpu)
                list.gpus.push_back({&fn, driver, handle});
            else if (kind == zemm_cpu)
                list.cpus.push_back({&fn, driver, handle});
        }
    }
}

const inventory *list_loader() {
    auto *list = new inventory;
    std::string why;
    if (const api *fn = loader_api(why)) {
        try {
            list_devices(*fn, *list);
            why = "the Level Zero loader reports no GPU: install the package intel-opencl-icd (Debian) or "
                  "libze-intel-gpu1 "
                  "(Ubuntu), and see to it that /dev/dri/renderD* exists and may be opened";
        } catch (const error &e) {
            why = e.what();
        }
    }
    list->why_no_gpu = why;
    return list;
}

const inventory *list_own_cpu() {
    auto *list = new inventory;
    if (const api *fn = cpu_driver_api(list->why_no_cpu)) {
        try {
            list_devices(*fn, *list);
            list->why_no_cpu = "the Level Zero CPU driver libze_cpu.so reports no device";
        } catch (const error &e) {
            list->why_no_cpu = e.what();
        }
    }
    own_cpu = list;
    return list;
}

} // namespace

const inventory &loader_devices() {
    static const inventory *list = list_loader();
    return *list;
}

const std::vector<found_device> &devices_of(zemm_engine_kind_t kind, std::string &why) {
    if (kind != zemm_cpu && kind != zemm_gpu)
        fail(zemm_invalid_arguments, "kind is %d: neither zemm_cpu (1) nor zemm_gpu (2)",
             static_cast<int>(kind));
    const inventory &loader = loader_devices();
    if (kind == zemm_gpu) {
        why = loader.why_no_gpu;
        return loader.gpus;
    }
    if (!loader.cpus.empty())
        return loader.cpus;
    static const inventory *own = list_own_cpu();
    why = own->why_no_cpu;
    return own->cpus;
}

const api *own_cpu_api_of(ze_device_handle_t handle) {
    if (const inventory *list = own_cpu)
        for (const found_device &device : list->cpus)
            if (device.handle == handle)
                return device.fn;
    return nullptr;
}

} // namespace zemm::ze
