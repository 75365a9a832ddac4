// SPDX-License-Identifier: Apache-2.0
//
// Vector widths of the device, in elements, as the OpenCL runtime gives them.
#include "border/border.h"
#include "border/newer_api.h"
#include "opencl/runtime.h"

namespace ze_cpu {
namespace {

uint32_t width(cl::Uint key) {
    cl::Uint value = 0;
    opencl().clGetDeviceInfo(runtime().device, key, sizeof value, &value, nullptr);
    return value;
}

VectorWidths::Set widths(cl::Uint of_char, cl::Uint of_half) {
    return {width(of_char),     width(of_char + 1), width(of_char + 2), width(of_char + 3),
            width(of_char + 4), width(of_char + 5), width(of_half)};
}

} // namespace

ze_result_t zeDeviceGetVectorWidthPropertiesExt(ze_device_handle_t hDevice, uint32_t *pCount,
                                                VectorWidths *pVectorWidthProperties) {
    need_handles(hDevice);
    return answer_list(1, pCount, pVectorWidthProperties, [](uint32_t, VectorWidths &to) {
        to.size = runtime().info.vector_width_int;
        to.preferred = widths(cl::device_preferred_vector_width_char, cl::device_preferred_vector_width_half);
        to.native = widths(cl::device_native_vector_width_char, cl::device_native_vector_width_half);
    });
}

} // namespace ze_cpu
