// SPDX-License-Identifier: Apache-2.0
// A Level Zero device with the context that zemm uses on it.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "ze/api.hpp"
#include "ze/features.hpp"
#include "ze/gpu_model.hpp"
#include "ze/handle.hpp"
#include "zemm/zemm_types.h"

namespace zemm::ze {

class module_cache;

class device {
    const owned_context own_context_; // empty for an interop caller's; outlives what is made in it

public:
    ~device();
    device(const device &) = delete;
    device &operator=(const device &) = delete;

    const api &fn;
    const ze_driver_handle_t driver;
    const ze_device_handle_t handle;
    const ze_context_handle_t context;
    const zemm_engine_kind_t kind;                 // zemm_cpu or zemm_gpu
    bool adopted() const { return !own_context_; } // the context is an interop caller's
    const gpu_model model;                         // of a GPU
    const std::string model_text;                  // "" for a CPU
    const feature_set all_features;
    const feature_set features; // less what ZEMM_DEVICE_MASK hides
    const std::string feature_names;
    bool has(feature f) const { return features.has(f); }
    std::string name;
    std::string identity; // what native binaries depend on: device, driver and their versions, no mask
    uint32_t compute_queue_ordinal = 0; // group of a queue that runs kernels
    uint32_t compute_units = 1;         // cores of a CPU, execution units of a GPU
    uint32_t max_group_size = 0;        // work-items of a group
    size_t max_argument_size = 0;       // bytes of all kernel arguments
    double timestamp_period_ns = 1.0;   // of kernel timestamps
    uint64_t timestamp_mask = ~0ull;    // valid bits of kernel timestamps
    bool host_pointers = false;         // kernels read and write ordinary host memory (malloc)
    uint32_t api_version = 0;           // of the driver, as ZE_MAKE_VERSION
    uint64_t max_allocation = 0;        // bytes of one allocation without relaxed limits

    // Modules built in this context; they go before the context does.
    std::unique_ptr<module_cache> modules;
    // A synchronous list for copies by the host, created at first use.
    std::mutex copy_lock;
    owned_list copy_list;

    bool has_api(uint32_t minor) const {
        return api_version >= static_cast<uint32_t>(ZE_MAKE_VERSION(1, minor));
    }

private:
    friend std::shared_ptr<device> open_device(zemm_engine_kind_t, size_t);
    friend std::shared_ptr<device> adopt_device(ze_driver_handle_t, ze_device_handle_t, ze_context_handle_t);
    device(const api &fn, ze_driver_handle_t, ze_device_handle_t, owned_context own, ze_context_handle_t);
};

// Number of devices of a kind; what is missing goes to why when it is 0. Throws what may pass.
size_t device_count(zemm_engine_kind_t kind, std::string &why);
// invalid_arguments for an index past the end; the sentence says what is missing when nothing of the kind is
// there. out_of_memory, runtime_error: what failed while devices were looked for; it may pass. The device and
// its context stay open until the process ends: engines on one device share them, and its modules.
std::shared_ptr<device> open_device(zemm_engine_kind_t kind, size_t index);
// For handles of the process's loader, or of a device that open_device() opened (interop); the context stays
// the caller's.
std::shared_ptr<device> adopt_device(ze_driver_handle_t, ze_device_handle_t, ze_context_handle_t);
// The functions that handles of a device belong to, by the rule of adopt_device().
const api &api_of(ze_device_handle_t handle);

} // namespace zemm::ze
