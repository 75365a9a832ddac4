// SPDX-License-Identifier: Apache-2.0
// What a GPU is made of, as kernels and cost functions ask for it: its family from gpu_table.cpp, its size
// from the driver.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "ze/api.hpp"

namespace zemm::ze {

// Generations that kernels tell apart, in their order. Xe-LPG and Xe-LPG+ have the Xe-HPG core.
enum class gpu_family { unknown, older, xe_lp, xe_hpg, xe_hpc, xe2, xe3 };

// A GPU IP as ZE_extension_device_ip_version packs it: 10 bits of architecture, 8 of release, 6 of revision.
struct ip_version {
    uint32_t value = 0; // 0: not known
    uint32_t architecture() const { return value >> 22; }
    uint32_t release() const { return value >> 14 & 0xff; }
    std::string text() const; // "12.60"
};

// Numbers of a family member. 0 where a number does not apply or is not known.
struct gpu_row {
    gpu_family family = gpu_family::unknown;
    const char *name = "unknown";
    uint32_t xmx_int8_ops = 0; // per clock and XVE, a multiply-add is two; 0: no DPAS
    uint32_t xmx_f16_ops = 0;
    uint32_t sub_group = 0;   // work-items of a sub-group in DPAS and block loads: its native SIMD width
    uint32_t grf_bytes = 0;   // of one register
    uint32_t threads_128 = 0; // of an XVE whose threads have 128 registers
    uint32_t threads_256 = 0; // and 256 (-ze-opt-large-register-file); 0: no such mode
    uint32_t slm_per_core = 0;
    uint32_t l1_per_core = 0;        // with SLM, where they are one memory
    uint32_t l1_bytes_per_clock = 0; // that an Xe core loads; docs/xe.md has the sources
    bool block_2d = false;           // 2-D block loads
    bool tf32 = false;               // DPAS of tf32
};

struct gpu_model : gpu_row {
    ip_version ip;
    bool dp4a = false;
    bool xmx = false; // DPAS, from the driver's flags where it has them
    uint32_t xe_cores = 0;
    uint32_t xves_per_core = 0;
    uint32_t slm_per_group = 0;
    uint64_t l2_bytes = 0;
    uint32_t clock_mhz = 0;

    uint32_t xves() const { return xe_cores * xves_per_core; }
    // Of one XVE, with so many registers each.
    uint32_t threads(int registers) const { return registers == 256 ? threads_256 : threads_128; }
    // "family=xe_hpc,name=Xe-HPC,ip=12.60,xe_cores=8,...": what zemm_engine_get_model() answers.
    std::string text() const;
};

const char *family_name(gpu_family family); // "xe_hpc"

// The row of an IP version; family older below version 12, unknown for one that the table does not have.
gpu_row row_of(ip_version ip);
// The IP version that devices with this PCI id have; 0 if it is not in the table.
ip_version ip_of_device_id(uint32_t vendor_id, uint32_t device_id);

gpu_model gpu_model_of(const api &fn, ze_driver_handle_t driver, ze_device_handle_t device);

} // namespace zemm::ze
