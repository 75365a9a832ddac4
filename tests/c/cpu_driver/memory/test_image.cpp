// SPDX-License-Identifier: Apache-2.0
// Images and samplers: kernels that read and write them, copies of parts, formats, bad input.
#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

#include "ze_test.h"

namespace {

struct Format {
    ze_image_format_layout_t layout;
    ze_image_format_type_t type;
    ze_image_format_swizzle_t x = ZE_IMAGE_FORMAT_SWIZZLE_R, y = ZE_IMAGE_FORMAT_SWIZZLE_G,
                              z = ZE_IMAGE_FORMAT_SWIZZLE_B, w = ZE_IMAGE_FORMAT_SWIZZLE_A;
};
constexpr Format bytes_rgba{ZE_IMAGE_FORMAT_LAYOUT_8_8_8_8, ZE_IMAGE_FORMAT_TYPE_UINT};
constexpr Format ints_r{ZE_IMAGE_FORMAT_LAYOUT_32, ZE_IMAGE_FORMAT_TYPE_UINT};
constexpr Format floats_r{ZE_IMAGE_FORMAT_LAYOUT_32, ZE_IMAGE_FORMAT_TYPE_FLOAT};

ze_image_desc_t describe(ze_image_type_t type, const Format &f, size_t width, uint32_t height = 1,
                         uint32_t depth = 1, uint32_t levels = 0) {
    auto desc = of_type<ze_image_desc_t>(ZE_STRUCTURE_TYPE_IMAGE_DESC);
    desc.flags = ZE_IMAGE_FLAG_KERNEL_WRITE;
    desc.type = type;
    desc.format = {f.layout, f.type, f.x, f.y, f.z, f.w};
    desc.width = width;
    desc.height = height;
    desc.depth = depth;
    desc.arraylevels = levels;
    return desc;
}

Owned<ze_image_handle_t> make_image(const ze_image_desc_t &desc) {
    return made(ze.zeImageCreate, context, device, &desc);
}

Owned<ze_sampler_handle_t> make_sampler(ze_sampler_address_mode_t address, ze_sampler_filter_mode_t filter,
                                        bool normalized) {
    const ze_sampler_desc_t desc{ZE_STRUCTURE_TYPE_SAMPLER_DESC, nullptr, address, filter, normalized};
    return made(ze.zeSamplerCreate, context, device, &desc);
}

template <class T> void upload(ze_image_handle_t image, const std::vector<T> &data) {
    append(ze.zeCommandListAppendImageCopyFromMemory, list, image, data.data(), nullptr);
    finish(list);
}
template <class T> std::vector<T> download(ze_image_handle_t image, size_t count) {
    std::vector<T> data(count);
    append(ze.zeCommandListAppendImageCopyToMemory, list, data.data(), image, nullptr);
    finish(list);
    return data;
}

template <class T> std::vector<T> counting(size_t count, T first) {
    std::vector<T> data(count);
    for (size_t i = 0; i < count; i++)
        data[i] = T(first + T(i));
    return data;
}

void launch_3d(ze_kernel_handle_t kernel, uint32_t x, uint32_t y, uint32_t z) {
    OK(ze.zeKernelSetGroupSize(kernel, 1, 1, 1));
    ze_group_count_t count{x, y, z};
    append(ze.zeCommandListAppendLaunchKernel, list, kernel, &count);
}

/// The formula of the OpenCL specification for a linear filter, clamped to the edge.
float interpolated(const std::vector<float> &texels, int width, int height, float x, float y) {
    const float u = x - 0.5f, v = y - 0.5f;
    const int i = int(std::floor(u)), j = int(std::floor(v));
    const float a = u - float(i), b = v - float(j);
    auto texel = [&](int s, int t) {
        s = s < 0 ? 0 : s >= width ? width - 1 : s;
        t = t < 0 ? 0 : t >= height ? height - 1 : t;
        return texels[size_t(t * width + s)];
    };
    return (1 - a) * (1 - b) * texel(i, j) + a * (1 - b) * texel(i + 1, j) + (1 - a) * b * texel(i, j + 1) +
           a * b * texel(i + 1, j + 1);
}

TEST(samplers) {
    constexpr int width = 5, height = 3;
    std::vector<float> texels(width * height);
    for (size_t i = 0; i < texels.size(); i++)
        texels[i] = float(i * i % 17);
    const auto image = make_image(describe(ZE_IMAGE_TYPE_2D, floats_r, width, height));
    upload(image, texels);
    const std::vector<std::array<float, 2>> points{{0.5f, 0.5f}, {1.25f, 0.75f}, {4.9f, 2.9f}, {2.0f, 1.0f},
                                                   {3.3f, 2.2f}, {-0.7f, -1.2f}, {6.5f, 1.5f}, {2.5f, 9.0f}};
    const auto count = uint32_t(points.size());
    std::vector<std::array<float, 4>> out(count);
    const auto kernel = make_kernel("sample_2d", loaded("images.spv"));
    auto run = [&](ze_sampler_address_mode_t address, ze_sampler_filter_mode_t filter, bool normalized) {
        auto sampler = make_sampler(address, filter, normalized);
        set_args(kernel, image, sampler, points.data(), out.data());
        launch_3d(kernel, count, 1, 1);
        sampler.end(); // the launch holds it
        finish(list);
    };
    auto clamped = [](float v, int size) { return v < 0 ? 0 : v >= float(size) ? size - 1 : int(v); };

    run(ZE_SAMPLER_ADDRESS_MODE_CLAMP, ZE_SAMPLER_FILTER_MODE_NEAREST, false);
    for (size_t i = 0; i < count; i++)
        CHECK(out[i][0] ==
              texels[size_t(clamped(points[i][1], height) * width + clamped(points[i][0], width))]);
    CHECK(out[0][1] == 0 && out[0][2] == 0 && out[0][3] == 1);

    run(ZE_SAMPLER_ADDRESS_MODE_CLAMP, ZE_SAMPLER_FILTER_MODE_LINEAR, false);
    for (size_t i = 0; i < count; i++)
        CHECK(std::fabs(out[i][0] - interpolated(texels, width, height, points[i][0], points[i][1])) < 0.1f);

    run(ZE_SAMPLER_ADDRESS_MODE_CLAMP_TO_BORDER, ZE_SAMPLER_FILTER_MODE_NEAREST, false);
    for (size_t i = 5; i < count; i++) // points outside of the image
        CHECK(out[i][0] == 0);
    CHECK(out[4][0] == texels[2 * width + 3]);

    run(ZE_SAMPLER_ADDRESS_MODE_REPEAT, ZE_SAMPLER_FILTER_MODE_NEAREST, true);
    CHECK(out[1][0] == texels[2 * width + 1]); // 1.25 -> 0.25 of 5, 0.75 of 3
    run(ZE_SAMPLER_ADDRESS_MODE_MIRROR, ZE_SAMPLER_FILTER_MODE_NEAREST, true);
    CHECK(out[1][0] == texels[2 * width + 3]); // 1.25 -> 0.75

    // Only normalised coordinates repeat. Others are clamped, which makes no difference inside of the image.
    for (auto mode : {ZE_SAMPLER_ADDRESS_MODE_REPEAT, ZE_SAMPLER_ADDRESS_MODE_MIRROR}) {
        run(mode, ZE_SAMPLER_FILTER_MODE_NEAREST, false);
        CHECK(out[2][0] == texels[2 * width + 4] && out[4][0] == texels[2 * width + 3]);
    }

    ze_sampler_handle_t none = nullptr;
    for (const auto &[address, filter] : {std::pair(9, 1), {2, 2}}) {
        const ze_sampler_desc_t bad{ZE_STRUCTURE_TYPE_SAMPLER_DESC, nullptr,
                                    ze_sampler_address_mode_t(address), ze_sampler_filter_mode_t(filter), 1};
        REFUSED(INVALID_ENUMERATION, ze.zeSamplerCreate(context, device, &bad, &none));
    }
}

/// Samplers that are constants of a kernel repeat for normalised coordinates only, too.
TEST(constant_samplers) {
    const auto image = make_image(describe(ZE_IMAGE_TYPE_2D, floats_r, 4, 2));
    upload(image, std::vector<float>{0, 1, 2, 3, 10, 11, 12, 13});
    const float at[3][2] = {{2.5f, 1.5f}, {0.5f, 0.5f}, {1.375f, 1.75f}};
    std::vector<std::array<float, 4>> out(3);
    const auto kernel = make_kernel("sample_by_constants", loaded("images.spv"));
    set_args(kernel, image, &at[0], out.data());
    launch_3d(kernel, 3, 1, 1);
    finish(list);
    CHECK(out[0][0] == 12 && out[0][1] == 12);
    CHECK(out[1][0] == 0 && out[1][1] == 0);
    CHECK(out[2][2] == 11); // 0.375 of 4, 0.75 of 2
}

/// Runs a kernel that reads the image into memory.
void read(const char *name, ze_image_handle_t image, void *to, uint32_t x, uint32_t y) {
    const auto kernel = make_kernel(name, loaded("images.spv"));
    set_args(kernel, image, to);
    launch_3d(kernel, x, y, 1);
    finish(list);
}

/// An image of each type goes through a kernel and back.
TEST(types) {
    const auto bytes = counting<uint8_t>(2 * 3 * 4 * 4, 1);
    struct {
        ze_image_type_t type;
        const char *kernel;
        uint32_t x, y, z;
    } const rows[] = {{ZE_IMAGE_TYPE_2D, "double_2d", 8, 3, 1},
                      {ZE_IMAGE_TYPE_2DARRAY, "double_array", 4, 2, 3},
                      {ZE_IMAGE_TYPE_3D, "double_3d", 2, 3, 4}};
    for (const auto &row : rows) {
        const ze_image_desc_t desc = describe(row.type, bytes_rgba, row.x, row.y, row.z, row.z);
        auto from = make_image(desc);
        const auto to = make_image(desc);
        const auto kernel = make_kernel(row.kernel, loaded("images.spv"));
        upload(from, bytes);
        set_args(kernel, from, to);
        launch_3d(kernel, row.x, row.y, row.z);
        from.end(); // the launch holds it
        const auto result = download<uint8_t>(to, bytes.size());
        for (size_t i = 0; i < bytes.size(); i++)
            CHECK(result[i] == 2 * bytes[i]);
    }

    const auto ints = counting<uint32_t>(7, 100);
    const auto line = make_image(describe(ZE_IMAGE_TYPE_1D, ints_r, 7));
    upload(line, ints);
    std::vector<std::array<uint32_t, 4>> wide(7);
    read("read_1d", line, wide.data(), 7, 1);
    for (size_t i = 0; i < 7; i++)
        CHECK(wide[i][0] == ints[i] && wide[i][1] == 0 && wide[i][3] == 1);

    constexpr Format shorts{ZE_IMAGE_FORMAT_LAYOUT_16_16, ZE_IMAGE_FORMAT_TYPE_SINT};
    const auto levels = make_image(describe(ZE_IMAGE_TYPE_1DARRAY, shorts, 4, 1, 1, 3));
    upload(levels, counting<int16_t>(24, -10));
    std::vector<std::array<int32_t, 4>> signed_out(12);
    read("read_levels", levels, signed_out.data(), 4, 3);
    for (int i = 0; i < 12; i++)
        CHECK(signed_out[size_t(i)][0] == 2 * i - 10 && signed_out[size_t(i)][1] == 2 * i - 9);

    // The width of a buffer is in bytes.
    constexpr Format norm{ZE_IMAGE_FORMAT_LAYOUT_8_8, ZE_IMAGE_FORMAT_TYPE_UNORM};
    const auto buffer = make_image(describe(ZE_IMAGE_TYPE_BUFFER, norm, 12));
    upload(buffer, std::vector<uint8_t>{0, 255, 51, 102, 0, 0, 0, 0, 0, 0, 153, 204});
    std::vector<std::array<float, 4>> floats(6);
    read("read_buffer", buffer, floats.data(), 6, 1);
    CHECK(floats[0][0] == 0 && floats[0][1] == 1 && std::fabs(floats[1][0] - 0.2f) < 1e-6f &&
          std::fabs(floats[5][1] - 0.8f) < 1e-6f && floats[5][2] == 0 && floats[5][3] == 1);
}

/// Copies of regions: between images and memory, with gaps and without, and between images.
TEST(regions) {
    constexpr size_t width = 6, height = 5;
    const auto ints = counting<uint32_t>(width * height, 0);
    const auto a = make_image(describe(ZE_IMAGE_TYPE_2D, ints_r, width, height));
    const auto b = make_image(describe(ZE_IMAGE_TYPE_2D, ints_r, width, height));
    upload(a, ints);
    upload(b, std::vector<uint32_t>(width * height, 777));
    const ze_image_region_t from{1, 2, 0, 3, 2, 1}, to{2, 0, 0, 3, 2, 1};
    append(ze.zeCommandListAppendImageCopyRegion, list, b, a, &to, &from);
    auto result = download<uint32_t>(b, width * height);
    for (size_t y = 0; y < height; y++)
        for (size_t x = 0; x < width; x++) {
            const bool inside = x >= 2 && x < 5 && y < 2;
            CHECK(result[y * width + x] == (inside ? (y + 2) * width + x - 1 : 777));
        }
    append(ze.zeCommandListAppendImageCopy, list, b, a);
    CHECK(download<uint32_t>(b, width * height) == ints);

    std::vector<uint32_t> part(6, 9), gaps(20, 9);
    append(ze.zeCommandListAppendImageCopyToMemory, list, part.data(), a, &from);
    append(ze.zeCommandListAppendImageCopyToMemoryExt, list, gaps.data(), a, &from, 5 * 4, 0);
    finish(list);
    for (size_t i = 0; i < 6; i++)
        CHECK(part[i] == (2 + i / 3) * width + 1 + i % 3 && gaps[i / 3 * 5 + i % 3] == part[i]);
    CHECK(gaps[3] == 9 && gaps[4] == 9 && gaps[8] == 9);
    for (uint32_t &value : gaps)
        value += 1000;
    append(ze.zeCommandListAppendImageCopyFromMemoryExt, list, a, gaps.data(), &to, 5 * 4, 0);
    result = download<uint32_t>(a, width * height);
    CHECK(result[2] == 1000 + part[0] && result[width + 4] == 1000 + part[5] && result[5] == 5);

    // Levels and slices, with a pitch each.
    const ze_image_desc_t cube_desc = describe(ZE_IMAGE_TYPE_3D, ints_r, 2, 2, 2);
    const auto cube = make_image(cube_desc);
    upload(cube, counting<uint32_t>(8, 0));
    std::vector<uint32_t> spread(32, 5);
    append(ze.zeCommandListAppendImageCopyToMemoryExt, list, spread.data(), cube, nullptr, 3 * 4, 9 * 4);
    finish(list);
    for (uint32_t i = 0; i < 8; i++)
        CHECK(spread[i / 4 * 9 + i / 2 % 2 * 3 + i % 2] == i);
    const auto levels = make_image(describe(ZE_IMAGE_TYPE_1DARRAY, ints_r, 2, 1, 1, 4));
    append(ze.zeCommandListAppendImageCopyFromMemoryExt, list, levels, spread.data(), nullptr, 3 * 4, 0);
    const auto rows = download<uint32_t>(levels, 8);
    CHECK(rows[0] == 0 && rows[1] == 1 && rows[2] == 2 && rows[3] == 3 && rows[6] == 4);

    const ze_image_region_t outside{4, 0, 0, 3, 1, 1}, other{0, 0, 0, 3, 1, 1};
    REFUSED_APPEND(INVALID_ARGUMENT, zeCommandListAppendImageCopyToMemory, list, part.data(), a, &outside);
    REFUSED_APPEND(INVALID_ARGUMENT, zeCommandListAppendImageCopyRegion, list, b, a, &to, &other);
    append(ze.zeCommandListAppendImageCopyRegion, list, a, a, &to, &from);
    const ze_image_region_t close{2, 1, 0, 3, 2, 1};
    REFUSED_APPEND(OVERLAPPING_REGIONS, zeCommandListAppendImageCopyRegion, list, a, a, &close, &to);
    REFUSED_APPEND(INVALID_SIZE, zeCommandListAppendImageCopyToMemoryExt, list, gaps.data(), a, &from, 4, 0);
    const auto bytes = make_image(describe(ZE_IMAGE_TYPE_2D, bytes_rgba, width, height));
    REFUSED_APPEND(INVALID_ARGUMENT, zeCommandListAppendImageCopy, list, bytes, a);
    finish(list);
}

/// Copies of no pixels wait and signal, and copy nothing.
TEST(empty_regions) {
    const auto pixels = counting<uint32_t>(16, 5);
    const ze_image_desc_t desc = describe(ZE_IMAGE_TYPE_2D, ints_r, 4, 4);
    const auto from = make_image(desc), to = make_image(desc);
    upload(from, pixels);
    upload(to, pixels);
    std::vector<uint32_t> memory(16, 9);
    const auto start = make_event(), done = make_event();
    const ze_image_region_t whole{0, 0, 0, 4, 4, 1};
    for (const ze_image_region_t &none :
         {ze_image_region_t{0, 0, 0, 0, 4, 1}, {4, 0, 0, 0, 4, 1}, {0, 1, 0, 4, 0, 1}, {0, 0, 0, 0, 0, 0}}) {
        const auto check = [&](ze_result_t result) {
            OK(result);
            NOT_READY(ze.zeEventQueryStatus(done));
            OK(ze.zeEventHostSignal(start));
            OK(ze.zeEventHostSynchronize(done, UINT64_MAX));
            OK(ze.zeEventHostReset(start));
            OK(ze.zeEventHostReset(done));
        };
        check(ze.zeCommandListAppendImageCopyRegion(list, to, from, &none, &none, done, 1, &start));
        check(ze.zeCommandListAppendImageCopyToMemory(list, memory.data(), from, &none, done, 1, &start));
        check(ze.zeCommandListAppendImageCopyFromMemory(list, to, memory.data(), &none, done, 1, &start));
        REFUSED_APPEND(INVALID_ARGUMENT, zeCommandListAppendImageCopyRegion, list, to, from, &whole, &none);
    }
    CHECK(memory == std::vector<uint32_t>(16, 9) && download<uint32_t>(to, 16) == pixels);
    const ze_image_region_t outside{5, 0, 0, 0, 1, 1};
    REFUSED_APPEND(INVALID_ARGUMENT, zeCommandListAppendImageCopyToMemory, list, memory.data(), from,
                   &outside);
}

/// Sizes and pitches, in bytes, and numbers of images.
TEST(properties) {
    const uint32_t w = 7, h = 5, d = 3;
    struct {
        ze_image_type_t type;
        uint64_t size, slice; // in pixels
    } const rows[] = {{ZE_IMAGE_TYPE_1D, w, w},
                      {ZE_IMAGE_TYPE_1DARRAY, w * d, w},
                      {ZE_IMAGE_TYPE_2D, w * h, w * h},
                      {ZE_IMAGE_TYPE_2DARRAY, w * h * d, w * h},
                      {ZE_IMAGE_TYPE_3D, w * h * d, w * h}};
    std::vector<uint64_t> ids;
    std::vector<Owned<ze_image_handle_t>> images; // all at once
    auto ask = [&](const ze_image_desc_t &desc) {
        images.push_back(make_image(desc));
        const auto id = [&] {
            return filled(ZE_STRUCTURE_TYPE_IMAGE_ALLOCATION_EXT_PROPERTIES, ze.zeImageGetAllocPropertiesExt,
                          context, images.back())
                .id;
        };
        ids.push_back(id());
        CHECK(id() == ids.back());
        return filled(ZE_STRUCTURE_TYPE_IMAGE_MEMORY_EXP_PROPERTIES, ze.zeImageGetMemoryPropertiesExp,
                      images.back());
    };
    constexpr Format byte{ZE_IMAGE_FORMAT_LAYOUT_8, ZE_IMAGE_FORMAT_TYPE_UNORM};
    constexpr Format wide{ZE_IMAGE_FORMAT_LAYOUT_32_32_32_32, ZE_IMAGE_FORMAT_TYPE_FLOAT};
    for (const auto &[format, pixel] : {std::pair{byte, 1u}, {bytes_rgba, 4u}, {wide, 16u}}) {
        for (const auto &row : rows) {
            const auto memory = ask(describe(row.type, format, w, h, d, d));
            CHECK(memory.rowPitch == w * pixel && memory.slicePitch == row.slice * pixel &&
                  memory.size == row.size * pixel);
        }
        const auto memory = ask(describe(ZE_IMAGE_TYPE_BUFFER, format, 32));
        CHECK(memory.rowPitch == 32 && memory.slicePitch == 32 && memory.size == 32);
    }
    const auto usm = shared<char>(1);
    ids.push_back(properties_of(usm).id);
    CHECK(std::set(ids.begin(), ids.end()).size() == ids.size() && !std::ranges::count(ids, 0));

    // No image is exported.
    ze_external_memory_export_fd_t file{ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_FD, nullptr,
                                        ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_FD, -1};
    auto allocation = of_type<ze_image_allocation_ext_properties_t>(
        ZE_STRUCTURE_TYPE_IMAGE_ALLOCATION_EXT_PROPERTIES, &file);
    REFUSED(UNSUPPORTED_FEATURE, ze.zeImageGetAllocPropertiesExt(context, images[0], &allocation));
    CHECK(file.fd == -1 && last_refusal().find("allocation properties") != std::string::npos);
    auto memory =
        of_type<ze_image_memory_properties_exp_t>(ZE_STRUCTURE_TYPE_IMAGE_MEMORY_EXP_PROPERTIES, &file);
    REFUSED(UNSUPPORTED_FEATURE, ze.zeImageGetMemoryPropertiesExp(images[0], &memory));
    if (!direct)
        return; // a loader looks into handles before it calls the driver
    REFUSED(INVALID_NULL_HANDLE, ze.zeImageGetAllocPropertiesExt(context, nullptr, &allocation));
    REFUSED(INVALID_NULL_POINTER, ze.zeImageGetAllocPropertiesExt(context, images[0], nullptr));
    REFUSED(INVALID_NULL_POINTER, ze.zeImageGetMemoryPropertiesExp(images[0], nullptr));
}

/// A regular list, held back by an event of the host, and executed twice.
TEST(recorded) {
    const ze_image_desc_t desc = describe(ZE_IMAGE_TYPE_2D, bytes_rgba, 2, 2);
    auto image = make_image(desc), result = make_image(desc);
    std::vector<uint8_t> in(16), out(16);
    const auto record = regular_list();
    const auto queue = make_queue(ZE_COMMAND_QUEUE_MODE_DEFAULT);
    const auto start = make_event(), uploaded = make_event();
    auto kernel = make_kernel("double_2d", loaded("images.spv"));
    set_args(kernel, image, result);
    OK(ze.zeKernelSetGroupSize(kernel, 1, 1, 1));
    const ze_group_count_t groups{2, 2, 1};
    OK(ze.zeCommandListAppendImageCopyFromMemory(record, image, in.data(), nullptr, uploaded, 1, &start));
    OK(ze.zeCommandListAppendLaunchKernel(record, kernel, &groups, nullptr, 1, &uploaded));
    append(ze.zeCommandListAppendImageCopyToMemory, record, out.data(), result, nullptr);
    OK(ze.zeCommandListClose(record));
    image.end(); // the list holds it
    kernel.end();
    for (uint8_t round = 1; round < 3; round++) {
        OK(ze.zeCommandQueueExecuteCommandLists(queue, 1, &record, nullptr));
        std::memcpy(in.data(), counting<uint8_t>(16, round).data(), in.size());
        OK(ze.zeEventHostSignal(start));
        OK(ze.zeCommandQueueSynchronize(queue, UINT64_MAX));
        for (size_t i = 0; i < 16; i++)
            CHECK(out[i] == 2 * in[i]);
        OK(ze.zeEventHostReset(start));
        OK(ze.zeEventHostReset(uploaded));
    }
}

/// A kernel must not keep the image of an earlier launch: handles of destroyed images are used
/// again for others.
TEST(handles_come_back) {
    const auto kernel = make_kernel("size_2d", loaded("images.spv"));
    for (int i = 1; i < 40; i++) {
        const auto image = make_image(describe(ZE_IMAGE_TYPE_2D, floats_r, size_t(i), uint32_t(2 * i)));
        int size[2] = {};
        set_args(kernel, image, &size[0]);
        launch_3d(kernel, 1, 1, 1);
        finish(list);
        CHECK(size[0] == i && size[1] == 2 * i);
    }
}

TEST(formats) {
    using F = ze_image_format_type_t;
    const auto r = ZE_IMAGE_FORMAT_SWIZZLE_R, g = ZE_IMAGE_FORMAT_SWIZZLE_G, b = ZE_IMAGE_FORMAT_SWIZZLE_B,
               a = ZE_IMAGE_FORMAT_SWIZZLE_A, zero = ZE_IMAGE_FORMAT_SWIZZLE_0, x = ZE_IMAGE_FORMAT_SWIZZLE_X;
    auto properties = of_type<ze_image_properties_t>(ZE_STRUCTURE_TYPE_IMAGE_PROPERTIES);
    auto ask = [&](const Format &format) {
        const ze_image_desc_t desc = describe(ZE_IMAGE_TYPE_2D, format, 4, 4);
        ze_image_handle_t image = nullptr;
        const ze_result_t result = ze.zeImageGetProperties(device, &desc, &properties);
        CHECK_RESULT(ze.zeImageCreate(context, device, &desc, &image), result);
        if (result == ZE_RESULT_SUCCESS)
            OK(ze.zeImageDestroy(image));
        return result;
    };
    const ze_image_format_layout_t layouts[] = {
        ZE_IMAGE_FORMAT_LAYOUT_8,          ZE_IMAGE_FORMAT_LAYOUT_16,
        ZE_IMAGE_FORMAT_LAYOUT_32,         ZE_IMAGE_FORMAT_LAYOUT_8_8,
        ZE_IMAGE_FORMAT_LAYOUT_16_16,      ZE_IMAGE_FORMAT_LAYOUT_32_32,
        ZE_IMAGE_FORMAT_LAYOUT_8_8_8_8,    ZE_IMAGE_FORMAT_LAYOUT_16_16_16_16,
        ZE_IMAGE_FORMAT_LAYOUT_32_32_32_32};
    for (size_t i = 0; i < 9; i++)
        for (F type : {ZE_IMAGE_FORMAT_TYPE_UINT, ZE_IMAGE_FORMAT_TYPE_SINT, ZE_IMAGE_FORMAT_TYPE_UNORM,
                       ZE_IMAGE_FORMAT_TYPE_SNORM, ZE_IMAGE_FORMAT_TYPE_FLOAT}) {
            const bool is_norm = type == ZE_IMAGE_FORMAT_TYPE_UNORM || type == ZE_IMAGE_FORMAT_TYPE_SNORM;
            const bool there = type == ZE_IMAGE_FORMAT_TYPE_FLOAT ? i % 3 != 0 : !is_norm || i % 3 != 2;
            CHECK_RESULT(ask({layouts[i], type}),
                         there ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_UNSUPPORTED_IMAGE_FORMAT);
        }
    OK(ask({ZE_IMAGE_FORMAT_LAYOUT_8_8_8_8, ZE_IMAGE_FORMAT_TYPE_UNORM}));
    CHECK(properties.samplerFilterFlags ==
          (ZE_IMAGE_SAMPLER_FILTER_FLAG_POINT | ZE_IMAGE_SAMPLER_FILTER_FLAG_LINEAR));
    OK(ask(bytes_rgba));
    CHECK(properties.samplerFilterFlags == ZE_IMAGE_SAMPLER_FILTER_FLAG_POINT);
    OK(ask({ZE_IMAGE_FORMAT_LAYOUT_8, ZE_IMAGE_FORMAT_TYPE_UNORM, r, x, x, x}));
    OK(ask({ZE_IMAGE_FORMAT_LAYOUT_8, ZE_IMAGE_FORMAT_TYPE_UNORM, zero, zero, zero, r}));
    REFUSED(UNSUPPORTED_IMAGE_FORMAT,
            ask({ZE_IMAGE_FORMAT_LAYOUT_8_8_8_8, ZE_IMAGE_FORMAT_TYPE_UINT, a, a, a, a}));
    for (auto layout :
         {ZE_IMAGE_FORMAT_LAYOUT_NV12, ZE_IMAGE_FORMAT_LAYOUT_5_6_5, ZE_IMAGE_FORMAT_LAYOUT_10_10_10_2})
        REFUSED(UNSUPPORTED_IMAGE_FORMAT, ask({layout, ZE_IMAGE_FORMAT_TYPE_UNORM}));

    // Blue first in memory: a kernel still sees each channel in its place.
    const Format bgra{ZE_IMAGE_FORMAT_LAYOUT_8_8_8_8, ZE_IMAGE_FORMAT_TYPE_UNORM, b, g, r, a};
    const auto image = make_image(describe(ZE_IMAGE_TYPE_2D, bgra, 1, 1));
    upload(image, std::vector<uint8_t>{0, 51, 255, 102});
    const float at[2] = {0.5f, 0.5f};
    float out[4] = {};
    const auto kernel = make_kernel("sample_2d", loaded("images.spv"));
    const auto sampler = make_sampler(ZE_SAMPLER_ADDRESS_MODE_CLAMP, ZE_SAMPLER_FILTER_MODE_NEAREST, false);
    set_args(kernel, image, sampler, &at[0], &out[0]);
    launch_3d(kernel, 1, 1, 1);
    finish(list);
    CHECK(out[0] == 1 && std::fabs(out[1] - 0.2f) < 1e-6f && out[2] == 0 && std::fabs(out[3] - 0.4f) < 1e-6f);
}

TEST(bad_input) {
    Owned<ze_image_handle_t> image;
    const auto create = [&](const ze_image_desc_t &desc) {
        return ze.zeImageCreate(context, device, &desc, &image);
    };
    REFUSED(UNSUPPORTED_SIZE, create(describe(ZE_IMAGE_TYPE_2D, floats_r, 1 << 20, 4)));
    REFUSED(UNSUPPORTED_SIZE, create(describe(ZE_IMAGE_TYPE_2D, floats_r, 0, 4)));
    REFUSED(INVALID_ENUMERATION, create(describe(ze_image_type_t(9), floats_r, 4, 4)));
    ze_image_desc_t desc = describe(ZE_IMAGE_TYPE_2D, floats_r, 4, 4);
    desc.flags = 1u << 5;
    REFUSED(INVALID_ENUMERATION, create(desc));

    const auto kernel = make_kernel("size_2d", loaded("images.spv"));
    uint32_t word = 0;
    REFUSED(INVALID_KERNEL_ARGUMENT_SIZE, ze.zeKernelSetArgumentValue(kernel, 0, sizeof word, &word));
    REFUSED(INVALID_ARGUMENT, ze.zeKernelSetArgumentValue(kernel, 0, sizeof image, nullptr));
    REFUSED(INVALID_ARGUMENT, ze.zeKernelSetArgumentValue(kernel, 0, sizeof image, &image));

    // An image of another type is refused when OpenCL sees it, with the launch.
    int size[2] = {};
    image = make_image(describe(ZE_IMAGE_TYPE_3D, floats_r, 4, 4, 4));
    set_args(kernel, image, &size[0]);
    const ze_group_count_t groups{1, 1, 1};
    REFUSED_APPEND(INVALID_ARGUMENT, zeCommandListAppendLaunchKernel, list, kernel, &groups);

    desc.flags = 0;
    image = make_image(desc);
    OK(ze.zeContextMakeImageResident(context, device, image));
    OK(ze.zeContextEvictImage(context, device, image));
    const auto limits =
        filled(ZE_STRUCTURE_TYPE_DEVICE_IMAGE_PROPERTIES, ze.zeDeviceGetImageProperties, device);
    CHECK(limits.maxImageDims1D >= 16384 && limits.maxImageDims2D >= 16384 && limits.maxImageDims3D >= 2048 &&
          limits.maxImageBufferSize >= 65536 && limits.maxImageArraySlices >= 2048 &&
          limits.maxSamplers >= 16 && limits.maxReadImageArgs >= 128 && limits.maxWriteImageArgs >= 64);
}

} // namespace
