// SPDX-License-Identifier: Apache-2.0
// What a device can run beyond the baseline, as kernels ask for it.
#pragma once

#include <cstdint>
#include <string>

#include "ze/api.hpp"
#include "ze/gpu_model.hpp"

namespace zemm::ze {

enum class feature : unsigned {
    avx2,        // with FMA
    avx_vnni,    // vpdpbusd on 256 bits: AVX-VNNI, or AVX512-VNNI with VL
    avx512,      // F, BW, DQ and VL
    avx512_vnni, // vpdpbusd on 512 bits
    // GPUs, and the CPU device, whose driver has them in software:
    dp4a,     // dot products of four bytes
    xmx,      // DPAS on bytes, 4-bit integers, f16 and bf16
    block_2d, // 2-D block loads, stores and prefetches
    tf32,     // DPAS on tf32
};
constexpr unsigned feature_count = 8;

const char *feature_name(feature f); // "avx512_vnni"

class feature_set {
public:
    bool has(feature f) const { return bits_ >> static_cast<unsigned>(f) & 1; }
    void add(feature f) { bits_ |= bit(f); }
    // Takes away a feature and what is never there without it: without avx2 no other AVX, without avx512 no
    // avx512_vnni, without xmx no tf32.
    void hide(feature f);
    std::string names() const; // "avx2,avx512", "" if there are none
    bool operator==(const feature_set &) const = default;

private:
    static uint32_t bit(feature f) { return 1u << static_cast<unsigned>(f); }
    uint32_t bits_ = 0;
};

// Of a CPU device, from the driver's extensions: "ZEX_cpu_<name>", which libze_cpu.so reports, and
// "ZEX_cpu_xe_builtins" for those of GPUs in software. A driver that reports none has none.
feature_set cpu_features(const api &fn, ze_driver_handle_t driver);
feature_set gpu_features(const gpu_model &model);
// Less those that ZEMM_DEVICE_MASK names.
feature_set masked(feature_set set);

} // namespace zemm::ze
