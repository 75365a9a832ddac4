// SPDX-License-Identifier: Apache-2.0
//
// Samplers, and their handle.
#pragma once

#include <memory>

#include <level_zero/ze_api.h>

#include "opencl/opencl_api.h"

namespace ze_cpu {

/// An OpenCL sampler. Launches that use it keep it alive.
class Sampler {
public:
    /// Throws ze_result_t.
    Sampler(const ze_sampler_desc_t &desc);
    ~Sampler();
    Sampler(const Sampler &) = delete;
    Sampler &operator=(const Sampler &) = delete;
    cl::Sampler get() const { return sampler_; }

private:
    cl::Sampler sampler_ = nullptr;
};

} // namespace ze_cpu

struct _ze_sampler_handle_t {
    std::shared_ptr<ze_cpu::Sampler> sampler;
};
