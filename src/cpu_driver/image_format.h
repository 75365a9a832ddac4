// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include <level_zero/ze_api.h>

#include "opencl_api.h"

namespace ze_cpu {

struct ImageFormat {
    cl::ImageFormat opencl;
    size_t pixel_size;        // in bytes
    bool can_be_interpolated; // by a sampler with a linear filter
};

/// False for a format that OpenCL has no name for: media formats, packed ones, unusual swizzles.
bool translate_format(const ze_image_format_t &format, ImageFormat &to);

/// True if the runtime has images of this format and type.
bool is_supported(const cl::ImageFormat &format, cl::Uint image_type);

/// OpenCL's name for the type of an image, 0 if there is none.
cl::Uint translate_image_type(ze_image_type_t type);

} // namespace ze_cpu
