// SPDX-License-Identifier: Apache-2.0
// A Level Zero device: its context, its properties and the modules built for it.
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
    // Empty if an interop caller brought the context. The first member, so that it is destroyed
    // last: modules and lists must be gone before their context.
    const owned_context own_context_;

public:
    ~device();
    device(const device &) = delete;
    device &operator=(const device &) = delete;

    const api &fn;
    const ze_driver_handle_t driver;
    const ze_device_handle_t handle;
    const ze_context_handle_t context;
    const zemm_engine_kind_t kind;                 // zemm_cpu or zemm_gpu
    bool adopted() const { return !own_context_; } // an interop caller brought the context
    const gpu_model model;                         // of a GPU; all defaults for a CPU
    const std::string model_text;                  // "" for a CPU
    const feature_set all_features;
    const feature_set features;      // all_features without those that ZEMM_DEVICE_MASK names
    const std::string feature_names; // of features, separated by commas
    bool has(feature f) const { return features.has(f); }
    std::string name;
    // Names the device, the driver and their versions: a native binary is valid only where it is
    // the same. It does not depend on ZEMM_DEVICE_MASK.
    std::string identity;
    uint32_t compute_queue_ordinal = 0; // command queue group that runs kernels
    uint32_t compute_units = 1;         // cores of a CPU, execution units of a GPU
    uint32_t max_group_size = 0;        // work-items of a work-group
    size_t max_argument_size = 0;       // bytes of all arguments of a kernel together
    double timestamp_period_ns = 1.0;   // nanoseconds of one tick of kernel timestamps
    uint64_t timestamp_mask = ~0ull;    // valid bits of kernel timestamps
    bool has_f64 = false;               // arithmetic in f64
    bool host_pointers = false;         // kernels may read and write ordinary host memory (malloc)
    uint32_t api_version = 0;           // of the driver, as ZE_MAKE_VERSION
    uint64_t max_allocation = 0;        // bytes of one allocation without relaxed limits; 0: not known

    std::unique_ptr<module_cache> modules;
    // A synchronous command list for copy_now(), created at first use.
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

// The number of devices of a kind. If it is 0, why says what is missing. Throws if the search
// failed for a reason that may pass.
size_t device_count(zemm_engine_kind_t kind, std::string &why);
// Throws invalid_arguments if index is not below the number of devices; if there are none, the
// sentence says what is missing. Throws out_of_memory or runtime_error if the search failed for a
// reason that may pass. The device and its context stay open until the process ends: engines on one
// device share them and the built modules.
std::shared_ptr<device> open_device(zemm_engine_kind_t kind, size_t index);
// For interop: the handles come from the process's loader or from a device that open_device()
// opened. The caller keeps the context.
std::shared_ptr<device> adopt_device(ze_driver_handle_t, ze_device_handle_t, ze_context_handle_t);
// The functions to call with a handle that adopt_device() takes: of libze_cpu.so for its device,
// else the loader's.
const api &api_of(ze_device_handle_t handle);

} // namespace zemm::ze
