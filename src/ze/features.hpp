// SPDX-License-Identifier: Apache-2.0
// What a device can run beyond the baseline, as kernels ask for it.
#pragma once

#include <cstdint>
#include <string>

#include "ze/api.hpp"
#include "zemm/zemm_types.h"

namespace zemm::ze {

enum class feature : unsigned {
    avx2,        // with FMA
    avx_vnni,    // vpdpbusd on 256 bits: AVX-VNNI, or AVX512-VNNI with VL
    avx512,      // F, BW, DQ and VL
    avx512_vnni, // vpdpbusd on 512 bits
    dp4a,        // GPUs: dot products of four bytes
};
constexpr unsigned feature_count = 5;

const char *feature_name(feature f); // "avx512_vnni"

class feature_set {
public:
    bool has(feature f) const { return bits_ >> static_cast<unsigned>(f) & 1; }
    void add(feature f) { bits_ |= bit(f); }
    // Takes away a feature and what is never there without it: without avx2 no feature of a CPU, without
    // avx512 no avx512_vnni.
    void hide(feature f);
    std::string names() const; // "avx2,avx512", "" if there are none
    bool operator==(const feature_set &) const = default;

private:
    static uint32_t bit(feature f) { return 1u << static_cast<unsigned>(f); }
    uint32_t bits_ = 0;
};

// Features from the driver's extensions ("ZEX_cpu_<name>", which libze_cpu.so reports; a CPU device of a
// driver that reports none has none) and the device's properties.
feature_set reported_features(const api &fn, ze_driver_handle_t driver, ze_device_handle_t device,
                              zemm_engine_kind_t kind);
// Less those that ZEMM_DEVICE_MASK names.
feature_set features_of(const api &fn, ze_driver_handle_t driver, ze_device_handle_t device,
                        zemm_engine_kind_t kind);

} // namespace zemm::ze
