// SPDX-License-Identifier: Apache-2.0
// Values that are shorter or longer than their argument, local memory, and queries of a kernel.
#include "ze_test.h"

struct Tail { // as in launches.cl
    int64_t a;
    char b;
};

static const auto bad_size = ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE;

static void set(ze_kernel_handle_t kernel, uint32_t index, size_t size, const void *value,
                ze_result_t expected = ZE_RESULT_SUCCESS) {
    CHECK_RESULT(ze.zeKernelSetArgumentValue(kernel, index, size, value), expected);
}

/// A shorter value is taken, and zeros follow it.
TEST(sizes) {
    const auto kernel = make_kernel("sizes", loaded("launches.spv"));
    const auto out = shared<uint64_t>(5 * sizeof(uint64_t));
    const uint64_t wide = UINT64_MAX;
    const int vector[5] = {1, 2, 3, 4, 5}, minus_one = -1;
    const float three[5] = {1, 2, 3, 4, 5};
    Tail tail[2] = {{1000, 7}, {0, 0}};
    const int pointee = 5, *pointer = &pointee;
    set(kernel, 0, 8, &wide);
    set(kernel, 1, 16, vector);
    set(kernel, 2, 16, three);
    set(kernel, 3, sizeof(Tail), tail);
    set(kernel, 4, 8, &pointer);
    set(kernel, 5, 64, nullptr);
    set(kernel, 6, 8, &out);
    launch(list, kernel, 1, 1);
    finish(list);
    CHECK(out[0] == UINT64_MAX && out[1] == 4321 && out[2] == 6 && out[3] == 1007 && out[4] == 5);

    set(kernel, 0, 4, &minus_one); // an int for a ulong
    set(kernel, 1, 8, vector);     // int2 for int4
    set(kernel, 2, 12, three);     // float[3] for float3
    set(kernel, 3, 9, tail);       // without the padding at its end
    set(kernel, 4, 8, nullptr);
    launch(list, kernel, 1, 1);
    set(kernel, 4, 8, &pointer); // captured at the append: this must not be seen
    finish(list);
    CHECK(out[0] == UINT32_MAX && out[1] == 21 && out[2] == 6 && out[3] == 1007 && out[4] == 77);

    set(kernel, 0, 1, &minus_one);
    set(kernel, 1, 0, nullptr);
    set(kernel, 3, sizeof(Tail), nullptr);
    pointer = nullptr;
    set(kernel, 4, 8, &pointer);
    launch(list, kernel, 1, 1);
    finish(list);
    CHECK(out[0] == 255 && out[1] == 0 && out[3] == 0 && out[4] == 77);

    set(kernel, 0, 9, tail, bad_size);
    set(kernel, 0, 0, &wide, bad_size);
    set(kernel, 1, 20, vector, bad_size);
    set(kernel, 2, 20, three, bad_size);
    set(kernel, 3, sizeof(Tail) + 1, tail, bad_size);
    set(kernel, 3, 8, tail, bad_size); // a member is missing
    set(kernel, 4, 4, &pointer, bad_size);
    set(kernel, 4, 16, &pointer, bad_size);
    set(kernel, 4, 16, nullptr, bad_size);
    set(kernel, 7, 4, &minus_one, ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_INDEX);

    const auto incomplete = make_kernel("sizes", loaded("launches.spv"));
    const ze_group_count_t groups{1, 1, 1};
    set(incomplete, 0, 8, &wide);
    REFUSED_APPEND(INVALID_ARGUMENT, zeCommandListAppendLaunchKernel, list, incomplete, &groups);
}

/// An integer may have more bytes than the argument if its value fits.
TEST(wider_integers) {
    const auto kernel = make_kernel("narrow", loaded("launches.spv"));
    int64_t out[4];
    const void *pointer = out;
    set(kernel, 4, 8, &pointer);
    const int64_t minus_two = -2, three = 3, most = INT64_MAX;
    const int32_t minus_one = -1, wide = 1 << 16;
    set(kernel, 0, 8, &minus_two);
    set(kernel, 1, 8, &three);
    set(kernel, 2, 4, &minus_one);
    set(kernel, 3, 4, &three);
    launch(list, kernel, 1, 1);
    finish(list);
    CHECK(out[0] == -2 && out[1] == 3 && out[2] == -1 && out[3] == 3);
    set(kernel, 0, 8, &most, bad_size);
    set(kernel, 2, 4, &wide, bad_size);
    set(kernel, 0, 16, nullptr, bad_size);
    const double one = 1, numbers[2] = {};
    set(kernel, 1, 8, &one, bad_size);
    set(kernel, 0, 16, numbers, bad_size);
    launch(list, kernel, 1, 1); // what is refused leaves the arguments as they were
    finish(list);
    CHECK(out[0] == -2 && out[1] == 3 && out[2] == -1 && out[3] == 3);
}

/// The append refuses too much local memory, as only then all arguments are known.
TEST(local_memory) {
    const auto kernel = make_kernel("sizes", loaded("launches.spv"));
    const auto device_properties =
        filled(ZE_STRUCTURE_TYPE_DEVICE_COMPUTE_PROPERTIES, ze.zeDeviceGetComputeProperties, device);
    for (uint32_t index : {0u, 1u, 2u, 3u, 4u})
        set(kernel, index, 0, nullptr);
    uint64_t out[5], *pointer = out;
    set(kernel, 6, 8, &pointer);
    set(kernel, 5, size_t(device_properties.maxSharedLocalMemory) + 1, nullptr);
    const ze_group_count_t one{1, 1, 1};
    REFUSED_APPEND(OUT_OF_DEVICE_MEMORY, zeCommandListAppendLaunchKernel, list, kernel, &one);
    set(kernel, 5, 4096, nullptr);
    append(ze.zeCommandListAppendLaunchKernel, list, kernel, &one);
    finish(list);
    const auto p = filled(ZE_STRUCTURE_TYPE_KERNEL_PROPERTIES, ze.zeKernelGetProperties, kernel);
    CHECK(p.localMemSize == 4096);
    int value = 0;
    set(kernel, 5, 4, &value, ZE_RESULT_ERROR_INVALID_ARGUMENT);
}

static std::string attributes_of(const char *name) {
    const auto kernel = make_kernel(name, loaded("launches.spv"));
    uint32_t size = 0;
    OK(ze.zeKernelGetSourceAttributes(kernel, &size, nullptr));
    CHECK(size >= 1);
    // The driver fills the caller's buffer, and nothing behind it.
    std::vector<char> text(size + 8, '#');
    char *mine = text.data(), *const before = mine;
    OK(ze.zeKernelGetSourceAttributes(kernel, &size, &mine));
    CHECK(mine == before && size == std::strlen(mine) + 1);
    for (uint32_t i = 0; i < 8; i++)
        CHECK(text[size + i] == '#');
    std::fill(text.begin(), text.end(), '#');
    uint32_t longer = size + 8;
    OK(ze.zeKernelGetSourceAttributes(kernel, &longer, &mine));
    CHECK(longer == size && text[size] == '#');
    std::fill(text.begin(), text.end(), '#');
    if (size > 1) {
        uint32_t shorter = size - 1;
        REFUSED(INVALID_SIZE, ze.zeKernelGetSourceAttributes(kernel, &shorter, &mine));
        CHECK(text[0] == '#');
    }
    char *nowhere = nullptr;
    REFUSED(INVALID_NULL_POINTER, ze.zeKernelGetSourceAttributes(kernel, &size, &nowhere));
    OK(ze.zeKernelGetSourceAttributes(kernel, &size, &mine));
    return mine;
}

TEST(attributes) {
    CHECK(attributes_of("hints") == "work_group_size_hint(4,2,1) vec_type_hint(float4)");
    CHECK(attributes_of("required") == "reqd_work_group_size(16,2,1) intel_reqd_sub_group_size(8)");
    CHECK(attributes_of("sizes").empty());
}

TEST(properties) {
    const auto kernel = make_kernel("count_items", loaded("launches.spv"));
    ze_cpu::MaxGroupSizeProperties most{ze_cpu::structure_type_max_group_size, nullptr, 0};
    filled(ZE_STRUCTURE_TYPE_KERNEL_PROPERTIES, &most, ze.zeKernelGetProperties, kernel);
    CHECK(most.maxGroupSize > 0);
    OK(ze.zeKernelSetGroupSize(kernel, most.maxGroupSize, 1, 1));
    REFUSED(INVALID_GROUP_SIZE_DIMENSION, ze.zeKernelSetGroupSize(kernel, most.maxGroupSize + 1, 1, 1));
    ze_scheduling_hint_exp_desc_t hint{ZE_STRUCTURE_TYPE_SCHEDULING_HINT_EXP_DESC, nullptr, 0};
    for (hint.flags = 0; hint.flags < 8; hint.flags++)
        OK(ze.zeKernelSchedulingHintExp(kernel, &hint));
    REFUSED(INVALID_ENUMERATION, ze.zeKernelSchedulingHintExp(kernel, &hint));
}

TEST(allocations) {
    const auto get = ze.zeKernelGetAllocationPropertiesExp;
    const auto kernel = make_kernel("sizes", loaded("launches.spv"));
    uint32_t count = 0;
    OK(get(kernel, &count, nullptr));
    CHECK(count == 0);
    const auto out = shared<uint64_t>(5 * sizeof(uint64_t));
    uint64_t *const inside = out + 2;
    const int foreign = 0, *pointer = &foreign; // no allocation of the driver's
    set(kernel, 4, 8, &pointer);
    set(kernel, 6, 8, &inside);
    OK(get(kernel, &count, nullptr));
    CHECK(count == 1);
    ze_cpu::KernelAllocation found{};
    OK(get(kernel, &count, &found));
    CHECK(found.base == reinterpret_cast<uintptr_t>(&out[0]) && found.size == 5 * sizeof(uint64_t) &&
          found.type == ZE_MEMORY_TYPE_SHARED && found.argIndex == 6);
}
