// SPDX-License-Identifier: Apache-2.0
// The hardware numbers of a GPU that dispatch and cost functions use: those of its family come from
// gpus.def, the others from the driver.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "ze/api.hpp"

namespace zemm::ze {

// GPU generations that kernels distinguish, oldest first. Xe-LPG and Xe-LPG+ count as xe_hpg, whose
// core they have.
enum class gpu_family { unknown, older, xe_lp, xe_hpg, xe_hpc, xe2, xe3 };

// The version of a GPU's IP block, packed as in ZE_extension_device_ip_version: 10 bits of
// architecture, 8 of release, 8 reserved, 6 of revision.
struct ip_version {
    uint32_t value = 0; // 0: not known
    uint32_t architecture() const { return value >> 22; }
    uint32_t release() const { return value >> 14 & 0xff; }
    std::string text() const; // "12.60"
};

// A row of gpus.def: what all GPUs of an IP version share. 0: does not apply or is not known.
struct gpu_row {
    gpu_family family = gpu_family::unknown;
    const char *name = "unknown";
    uint32_t xmx_int8_ops = 0; // per clock and XVE, a multiply-add counts as two; 0: no DPAS
    uint32_t xmx_f16_ops = 0;
    uint32_t sub_group = 0;   // work-items of a sub-group in DPAS and block loads
    uint32_t grf_bytes = 0;   // bytes of one register
    uint32_t threads_128 = 0; // threads of an XVE if each has 128 registers
    uint32_t threads_256 = 0; // if each has 256 (-ze-opt-large-register-file); 0: no such mode
    uint32_t slm_per_core = 0;
    uint32_t l1_per_core = 0;        // bytes, including SLM where both are one memory
    uint32_t l1_bytes_per_clock = 0; // that an Xe core can load; docs/xe.md has the sources
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
    uint64_t memory_bytes = 0;    // of all memories that the driver reports
    uint64_t max_alloc_bytes = 0; // of one allocation

    uint32_t xves() const { return xe_cores * xves_per_core; }
    // Threads of one XVE if each has this number of registers (128 or 256).
    uint32_t threads(int registers) const { return registers == 256 ? threads_256 : threads_128; }
    // The text of zemm_engine_get_model(): "family=xe_hpc,name=Xe-HPC,ip=12.60,xe_cores=8,...".
    std::string text() const;
};

const char *family_name(gpu_family family); // "xe_hpc"

// The row of an IP version. If the table has none, the family is `older` below version 12, else
// `unknown`.
gpu_row row_of(ip_version ip);
// The IP version of GPUs with this PCI id; 0 if the table does not have the id.
ip_version ip_of_device_id(uint32_t vendor_id, uint32_t device_id);

// Asks the driver, and looks up the rest in the table. Throws if a call fails.
gpu_model gpu_model_of(const api &fn, ze_driver_handle_t driver, ze_device_handle_t device);

} // namespace zemm::ze
