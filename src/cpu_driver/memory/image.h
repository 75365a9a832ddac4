// SPDX-License-Identifier: Apache-2.0
//
// Images, and their handle.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include <level_zero/ze_api.h>

#include "image_format.h"
#include "memory.h"
#include "opencl/opencl_api.h"

namespace ze_cpu {

/// How an image lies in memory, in bytes.
struct ImageLayout {
    size_t size, row_pitch, slice_pitch;
};

/// An OpenCL image and, for the type BUFFER, the buffer behind it. Commands that use the image keep
/// it alive.
class Image {
public:
    /// Throws ze_result_t.
    Image(const ze_image_desc_t &desc);
    ~Image();
    Image(const Image &) = delete;
    Image &operator=(const Image &) = delete;

    cl::Mem get() const { return image_; }
    ze_image_type_t type() const { return type_; }
    const ImageFormat &format() const { return format_; }
    /// Pixels in each dimension, and 1 in dimensions that the type lacks. In arrays the number of
    /// levels follows the dimensions of a level.
    const std::array<size_t, 3> &extent() const { return extent_; }
    uint64_t id() const { return id_; }
    /// Throws ze_result_t.
    ImageLayout layout() const;

private:
    ze_image_type_t type_;
    ImageFormat format_;
    std::array<size_t, 3> extent_{1, 1, 1};
    cl::Mem buffer_ = nullptr, image_ = nullptr;
    uint64_t id_ = next_allocation_id();
};

} // namespace ze_cpu

struct _ze_image_handle_t {
    std::shared_ptr<ze_cpu::Image> image;
};
