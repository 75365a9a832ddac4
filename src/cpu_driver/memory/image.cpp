// SPDX-License-Identifier: Apache-2.0
#include "image.h"

#include <algorithm>
#include <string>

#include "border/border.h"
#include "border/entry_points.h"
#include "border/refusal.h"
#include "opencl/runtime.h"

namespace ze_cpu {
namespace {

uint32_t limit(cl::Uint key) {
    return uint32_t(device_value<size_t>(runtime(), key));
}

/// Refuses structures in the chain of a descriptor or of properties: external memory, views, pitches and the
/// like. Hints may be ignored.
void check_chain(const void *next, const std::string &owner) {
    each_next(next, [&](const ze_base_desc_t &p) {
        if (p.stype != ZE_STRUCTURE_TYPE_MEMORY_COMPRESSION_HINTS_EXT_DESC)
            throw refuse(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
                         "the chain of the image's " + owner + " has a structure of type " +
                             std::to_string(uint32_t(p.stype)) +
                             ": images of this driver have neither external memory nor any extension");
    });
}

/// Checks a descriptor and translates its format, as far as that is possible without creating the
/// image. Throws ze_result_t.
ImageFormat format_of(const ze_image_desc_t &desc) {
    check_chain(desc.pNext, "descriptor");
    const cl::Uint type = translate_image_type(desc.type);
    if (desc.flags & ~uint32_t(ZE_IMAGE_FLAG_KERNEL_WRITE | ZE_IMAGE_FLAG_BIAS_UNCACHED) || !type)
        throw ZE_RESULT_ERROR_INVALID_ENUMERATION;
    ImageFormat format;
    if (!translate_format(desc.format, format) || !is_supported(format.opencl, type))
        throw ZE_RESULT_ERROR_UNSUPPORTED_IMAGE_FORMAT;
    if (desc.miplevels)
        throw ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
    return format;
}

std::array<size_t, 3> extent_of(const ze_image_desc_t &desc) {
    const size_t width = desc.width;
    switch (desc.type) {
    case ZE_IMAGE_TYPE_1DARRAY:
        return {width, desc.arraylevels, 1};
    case ZE_IMAGE_TYPE_2D:
        return {width, desc.height, 1};
    case ZE_IMAGE_TYPE_2DARRAY:
        return {width, desc.height, desc.arraylevels};
    case ZE_IMAGE_TYPE_3D:
        return {width, desc.height, desc.depth};
    default:
        return {width, 1, 1};
    }
}

/// A size that OpenCL knows of an image, by its function `get`. Throws ze_result_t.
size_t size_of(cl::Mem image, decltype(cl::Api::clGetImageInfo) get, cl::Uint key) {
    size_t value = 0;
    if (const cl::Int status = get(image, key, sizeof value, &value, nullptr); status != cl::success)
        throw from_opencl(status);
    return value;
}

ze_result_t from_creation(cl::Int error) {
    switch (error) {
    case cl::image_format_not_supported:
    case cl::invalid_image_format_descriptor:
        return ZE_RESULT_ERROR_UNSUPPORTED_IMAGE_FORMAT;
    case cl::invalid_image_size:
    case cl::invalid_image_descriptor:
    case cl::invalid_buffer_size:
        return ZE_RESULT_ERROR_UNSUPPORTED_SIZE;
    default:
        return from_opencl(error);
    }
}

} // namespace

Image::Image(const ze_image_desc_t &desc)
    : type_(desc.type), format_(format_of(desc)), extent_(extent_of(desc)) {
    const Runtime &r = runtime();
    cl::Int status = cl::success;
    if (type_ == ZE_IMAGE_TYPE_BUFFER) {
        // Level Zero gives the width of an image of type BUFFER in bytes.
        if (extent_[0] % format_.pixel_size != 0)
            throw ZE_RESULT_ERROR_UNSUPPORTED_SIZE;
        buffer_ = r.api.clCreateBuffer(r.context, cl::mem_read_write, extent_[0], nullptr, &status);
        if (!buffer_)
            throw from_creation(status);
        extent_[0] /= format_.pixel_size;
    }
    const bool is_array = type_ == ZE_IMAGE_TYPE_1DARRAY || type_ == ZE_IMAGE_TYPE_2DARRAY;
    const cl::ImageDesc description{translate_image_type(type_),
                                    extent_[0],
                                    extent_[1],
                                    extent_[2],
                                    is_array ? desc.arraylevels : size_t(0),
                                    0,
                                    0,
                                    0,
                                    0,
                                    buffer_};
    image_ =
        r.api.clCreateImage(r.context, cl::mem_read_write, &format_.opencl, &description, nullptr, &status);
    if (!image_) {
        if (buffer_)
            r.api.clReleaseMemObject(buffer_);
        throw from_creation(status);
    }
}

Image::~Image() {
    opencl().clReleaseMemObject(image_);
    if (buffer_)
        opencl().clReleaseMemObject(buffer_);
}

ImageLayout Image::layout() const {
    const cl::Api &api = opencl();
    const size_t row = size_of(image_, api.clGetImageInfo, cl::image_row_pitch);
    const size_t slice = size_of(image_, api.clGetImageInfo, cl::image_slice_pitch);
    return {size_of(image_, api.clGetMemObjectInfo, cl::mem_size), row, slice ? slice : row * extent_[1]};
}

ze_result_t zeDeviceGetImageProperties(ze_device_handle_t hDevice, ze_device_image_properties_t *p) {
    need_handles(hDevice);
    need_pointers(p);
    p->maxImageDims1D = p->maxImageDims2D = std::min(limit(cl::device_image2d_max_width), //
                                                     limit(cl::device_image2d_max_height));
    p->maxImageDims3D = std::min({limit(cl::device_image3d_max_width), limit(cl::device_image3d_max_height),
                                  limit(cl::device_image3d_max_depth)});
    p->maxImageBufferSize = device_value<size_t>(runtime(), cl::device_image_max_buffer_size);
    p->maxImageArraySlices = limit(cl::device_image_max_array_size);
    p->maxSamplers = device_value<cl::Uint>(runtime(), cl::device_max_samplers);
    p->maxReadImageArgs = device_value<cl::Uint>(runtime(), cl::device_max_read_image_args);
    p->maxWriteImageArgs = device_value<cl::Uint>(runtime(), cl::device_max_write_image_args);
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeImageGetProperties(ze_device_handle_t hDevice, const ze_image_desc_t *desc,
                                 ze_image_properties_t *pImageProperties) {
    need_handles(hDevice);
    need_pointers(desc, pImageProperties);
    pImageProperties->samplerFilterFlags =
        ZE_IMAGE_SAMPLER_FILTER_FLAG_POINT |
        (format_of(*desc).can_be_interpolated ? ZE_IMAGE_SAMPLER_FILTER_FLAG_LINEAR : 0);
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeImageCreate(ze_context_handle_t hContext, ze_device_handle_t hDevice,
                          const ze_image_desc_t *desc, ze_image_handle_t *phImage) {
    need_handles(hContext, hDevice);
    need_pointers(desc, phImage);
    *phImage = new _ze_image_handle_t{std::make_shared<Image>(*desc)};
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeImageDestroy(ze_image_handle_t hImage) {
    return destroy(hImage); // commands that still run keep the Image alive
}

ze_result_t zeImageGetAllocPropertiesExt(ze_context_handle_t hContext, ze_image_handle_t hImage,
                                         ze_image_allocation_ext_properties_t *pImageAllocProperties) {
    need_handles(hContext, hImage);
    need_pointers(pImageAllocProperties);
    check_chain(pImageAllocProperties->pNext, "allocation properties");
    pImageAllocProperties->id = hImage->image->id();
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeImageGetMemoryPropertiesExp(ze_image_handle_t hImage,
                                          ze_image_memory_properties_exp_t *pMemoryProperties) {
    need_handles(hImage);
    need_pointers(pMemoryProperties);
    check_chain(pMemoryProperties->pNext, "memory properties");
    const ImageLayout layout = hImage->image->layout();
    pMemoryProperties->size = layout.size;
    pMemoryProperties->rowPitch = layout.row_pitch;
    pMemoryProperties->slicePitch = layout.slice_pitch;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeContextMakeImageResident(ze_context_handle_t hContext, ze_device_handle_t hDevice,
                                       ze_image_handle_t hImage) {
    need_handles(hContext, hDevice, hImage);
    return ZE_RESULT_SUCCESS; // all memory is always resident
}

ze_result_t zeContextEvictImage(ze_context_handle_t hContext, ze_device_handle_t hDevice,
                                ze_image_handle_t hImage) {
    return ze_cpu::zeContextMakeImageResident(hContext, hDevice, hImage);
}

} // namespace ze_cpu
