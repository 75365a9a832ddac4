// SPDX-License-Identifier: Apache-2.0
// Optional instructions of a device that kernels may require.
#pragma once

#include <cstdint>
#include <string>

#include "ze/api.hpp"
#include "ze/gpu_model.hpp"

namespace zemm::ze {

// The rows of isa.def.
enum class feature : unsigned {
#define ZEMM_ISA(name, needs) name,
#include "lists/isa.def"
};

const char *feature_name(feature f); // "avx512_vnni"

class feature_set {
public:
    bool has(feature f) const { return bits_ >> static_cast<unsigned>(f) & 1; }
    void add(feature f) { bits_ |= bit(f); }
    // Removes a feature and the features that need it.
    void hide(feature f);
    std::string names() const; // "avx2,avx512"; "" for the empty set
    bool operator==(const feature_set &) const = default;

private:
    static uint32_t bit(feature f) { return 1u << static_cast<unsigned>(f); }
    uint32_t bits_ = 0;
};

// The features of a CPU device. libze_cpu.so reports each as an extension "ZEX_cpu_<name>", and
// those of GPUs, which it has in software, together as "ZEX_cpu_xe_builtins". Other drivers report
// none.
feature_set cpu_features(const api &fn, ze_driver_handle_t driver);
feature_set gpu_features(const gpu_model &model);
// set without the features that ZEMM_DEVICE_MASK (a comma-separated list) names. Warns of unknown
// names.
feature_set masked(feature_set set);

} // namespace zemm::ze
