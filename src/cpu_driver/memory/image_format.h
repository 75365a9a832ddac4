// SPDX-License-Identifier: Apache-2.0
//
// Translation of image formats and image types into OpenCL's.
#pragma once

#include <cstddef>

#include <level_zero/ze_api.h>

#include "opencl/opencl_api.h"

namespace ze_cpu {

struct ImageFormat {
    cl::ImageFormat opencl;
    size_t pixel_size;        // in bytes
    bool can_be_interpolated; // by a sampler with a linear filter
};

/// Returns false for a format that OpenCL lacks: media formats, packed formats, unusual swizzles.
bool translate_format(const ze_image_format_t &format, ImageFormat &to);

/// Whether the runtime has images of this format and type.
bool is_supported(const cl::ImageFormat &format, cl::Uint image_type);

/// OpenCL's constant for an image type; 0 if there is none.
cl::Uint translate_image_type(ze_image_type_t type);

} // namespace ze_cpu
