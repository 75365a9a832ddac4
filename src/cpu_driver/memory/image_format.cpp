// SPDX-License-Identifier: Apache-2.0
#include "image_format.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "opencl/runtime.h"

namespace ze_cpu {
namespace {

struct Layout {
    ze_image_format_layout_t layout;
    int components;
    int bits; // of a component
};
constexpr Layout layouts[] = {
    {ZE_IMAGE_FORMAT_LAYOUT_8, 1, 8},
    {ZE_IMAGE_FORMAT_LAYOUT_16, 1, 16},
    {ZE_IMAGE_FORMAT_LAYOUT_32, 1, 32},
    {ZE_IMAGE_FORMAT_LAYOUT_8_8, 2, 8},
    {ZE_IMAGE_FORMAT_LAYOUT_16_16, 2, 16},
    {ZE_IMAGE_FORMAT_LAYOUT_32_32, 2, 32},
    {ZE_IMAGE_FORMAT_LAYOUT_8_8_8_8, 4, 8},
    {ZE_IMAGE_FORMAT_LAYOUT_16_16_16_16, 4, 16},
    {ZE_IMAGE_FORMAT_LAYOUT_32_32_32_32, 4, 32},
};

/// The source of a channel: the index of a component in memory, or one of these.
enum : int { zero = -1, one = -2, anything = -3, unknown = -4 };

int source_of(ze_image_format_swizzle_t swizzle, int components) {
    switch (swizzle) {
    case ZE_IMAGE_FORMAT_SWIZZLE_R:
    case ZE_IMAGE_FORMAT_SWIZZLE_G:
    case ZE_IMAGE_FORMAT_SWIZZLE_B:
        return int(swizzle) < components ? int(swizzle) : zero;
    case ZE_IMAGE_FORMAT_SWIZZLE_A:
        return components == 4 ? 3 : one;
    case ZE_IMAGE_FORMAT_SWIZZLE_0:
        return zero;
    case ZE_IMAGE_FORMAT_SWIZZLE_1:
        return one;
    case ZE_IMAGE_FORMAT_SWIZZLE_X:
        return anything;
    default:
        return unknown;
    }
}

struct Order {
    int components;
    int sources[4]; // for red, green, blue and alpha
    cl::Uint order;
};
constexpr Order orders[] = {
    {1, {0, zero, zero, one}, cl::order_r},   {1, {zero, zero, zero, 0}, cl::order_a},
    {1, {0, 0, 0, one}, cl::order_luminance}, {1, {0, 0, 0, 0}, cl::order_intensity},
    {2, {0, 1, zero, one}, cl::order_rg},     {2, {0, zero, zero, 1}, cl::order_ra},
    {4, {0, 1, 2, 3}, cl::order_rgba},        {4, {2, 1, 0, 3}, cl::order_bgra},
    {4, {1, 2, 3, 0}, cl::order_argb},
};

cl::Uint order_of(const ze_image_format_t &format, int components) {
    const ze_image_format_swizzle_t swizzles[4] = {format.x, format.y, format.z, format.w};
    for (const Order &order : orders) {
        bool fits = order.components == components;
        for (int i = 0; i < 4; i++) {
            const int source = source_of(swizzles[i], components);
            fits = fits && (source == anything || source == order.sources[i]);
        }
        if (fits)
            return order.order;
    }
    return 0;
}

cl::Uint data_type_of(ze_image_format_type_t type, int bits) {
    const int size = bits == 8 ? 0 : bits == 16 ? 1 : 2;
    switch (type) {
    case ZE_IMAGE_FORMAT_TYPE_UINT:
        return cl::unsigned_int8 + cl::Uint(size);
    case ZE_IMAGE_FORMAT_TYPE_SINT:
        return cl::signed_int8 + cl::Uint(size);
    case ZE_IMAGE_FORMAT_TYPE_UNORM:
        return size < 2 ? cl::unorm_int8 + cl::Uint(size) : 0;
    case ZE_IMAGE_FORMAT_TYPE_SNORM:
        return size < 2 ? cl::snorm_int8 + cl::Uint(size) : 0;
    case ZE_IMAGE_FORMAT_TYPE_FLOAT:
        return size == 1 ? cl::half_float : size == 2 ? cl::full_float : 0;
    default:
        return 0;
    }
}

} // namespace

bool translate_format(const ze_image_format_t &format, ImageFormat &to) {
    const Layout *layout = std::ranges::find(layouts, format.layout, &Layout::layout);
    if (layout == std::end(layouts))
        return false;
    to.opencl.order = order_of(format, layout->components);
    to.opencl.data_type = data_type_of(format.type, layout->bits);
    to.pixel_size = size_t(layout->components * layout->bits / 8);
    to.can_be_interpolated =
        format.type != ZE_IMAGE_FORMAT_TYPE_UINT && format.type != ZE_IMAGE_FORMAT_TYPE_SINT;
    return to.opencl.order && to.opencl.data_type;
}

bool is_supported(const cl::ImageFormat &format, cl::Uint image_type) {
    const Runtime &r = runtime();
    cl::Uint count = 0;
    if (r.api.clGetSupportedImageFormats(r.context, cl::mem_read_write, image_type, 0, nullptr, &count) !=
        cl::success)
        return false;
    std::vector<cl::ImageFormat> list(count);
    return r.api.clGetSupportedImageFormats(r.context, cl::mem_read_write, image_type, count, list.data(),
                                            nullptr) == cl::success &&
           std::find(list.begin(), list.end(), format) != list.end();
}

cl::Uint translate_image_type(ze_image_type_t type) {
    constexpr std::pair<ze_image_type_t, cl::Uint> types[] = {
        {ZE_IMAGE_TYPE_1D, cl::image_1d}, {ZE_IMAGE_TYPE_1DARRAY, cl::image_1d_array},
        {ZE_IMAGE_TYPE_2D, cl::image_2d}, {ZE_IMAGE_TYPE_2DARRAY, cl::image_2d_array},
        {ZE_IMAGE_TYPE_3D, cl::image_3d}, {ZE_IMAGE_TYPE_BUFFER, cl::image_1d_buffer},
    };
    for (auto [from, to] : types)
        if (from == type)
            return to;
    return 0;
}

} // namespace ze_cpu
