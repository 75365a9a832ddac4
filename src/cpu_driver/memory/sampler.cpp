// SPDX-License-Identifier: Apache-2.0
#include "sampler.h"

#include "border/border.h"
#include "border/entry_points.h"
#include "opencl/runtime.h"

namespace ze_cpu {

Sampler::Sampler(const ze_sampler_desc_t &desc) {
    constexpr cl::Ulong modes[] = {cl::address_none, cl::address_repeat, cl::address_clamp_to_edge,
                                   cl::address_clamp, cl::address_mirrored_repeat};
    if (desc.addressMode > ZE_SAMPLER_ADDRESS_MODE_MIRROR || desc.filterMode > ZE_SAMPLER_FILTER_MODE_LINEAR)
        throw ZE_RESULT_ERROR_INVALID_ENUMERATION;
    // OpenCL repeats images for normalised coordinates only; with other coordinates the runtime
    // would end the process. Such samplers clamp instead, which is the same inside of the image.
    const bool repeats = desc.addressMode == ZE_SAMPLER_ADDRESS_MODE_REPEAT ||
                         desc.addressMode == ZE_SAMPLER_ADDRESS_MODE_MIRROR;
    const cl::Ulong properties[] = {
        cl::sampler_normalized_coords,
        cl::Ulong(desc.isNormalized != 0),
        cl::sampler_addressing_mode,
        repeats && !desc.isNormalized ? cl::address_clamp_to_edge : modes[desc.addressMode],
        cl::sampler_filter_mode,
        desc.filterMode == ZE_SAMPLER_FILTER_MODE_LINEAR ? cl::filter_linear : cl::filter_nearest,
        0,
    };
    const Runtime &r = runtime();
    cl::Int status = cl::success;
    sampler_ = r.api.clCreateSamplerWithProperties(r.context, properties, &status);
    if (!sampler_)
        throw from_opencl(status);
}

Sampler::~Sampler() {
    opencl().clReleaseSampler(sampler_);
}

ze_result_t zeSamplerCreate(ze_context_handle_t hContext, ze_device_handle_t hDevice,
                            const ze_sampler_desc_t *desc, ze_sampler_handle_t *phSampler) {
    need_handles(hContext, hDevice);
    need_pointers(desc, phSampler);
    *phSampler = new _ze_sampler_handle_t{std::make_shared<Sampler>(*desc)};
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeSamplerDestroy(ze_sampler_handle_t hSampler) {
    return destroy(hSampler); // launches that still run keep the Sampler alive
}

} // namespace ze_cpu
