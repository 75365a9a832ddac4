// SPDX-License-Identifier: Apache-2.0
//
// Values that are shorter or longer than their argument, local memory, and queries of a kernel.
#include "ze_test.h"

static ze_module_handle_t module;
static ze_command_list_handle_t list;

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
static void sizes() {
    const auto kernel = make_kernel(module, "sizes");
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
    finish(list);
    CHECK(out[0] == UINT32_MAX && out[1] == 21 && out[2] == 6 && out[3] == 1007 && out[4] == 77);

    set(kernel, 0, 1, &minus_one);
    set(kernel, 1, 0, nullptr);
    set(kernel, 3, sizeof(Tail), nullptr);
    launch(list, kernel, 1, 1);
    finish(list);
    CHECK(out[0] == 255 && out[1] == 0 && out[3] == 0);

    set(kernel, 0, 9, tail, bad_size);
    set(kernel, 0, 0, &wide, bad_size);
    set(kernel, 1, 20, vector, bad_size);
    set(kernel, 2, 20, three, bad_size);
    set(kernel, 3, sizeof(Tail) + 1, tail, bad_size);
    set(kernel, 3, 8, tail, bad_size); // a member is missing
    set(kernel, 4, 4, &pointer, bad_size);
    set(kernel, 4, 16, &pointer, bad_size);
    set(kernel, 4, 16, nullptr, bad_size);
}

/// An integer may have more bytes than the argument if its value fits.
static void wider_integers() {
    const auto kernel = make_kernel(module, "narrow");
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
static void local_memory() {
    const auto kernel = make_kernel(module, "sizes");
    ze_device_compute_properties_t device_properties{};
    device_properties.stype = ZE_STRUCTURE_TYPE_DEVICE_COMPUTE_PROPERTIES;
    OK(ze.zeDeviceGetComputeProperties(device, &device_properties));
    for (uint32_t index : {0u, 1u, 2u, 3u, 4u})
        set(kernel, index, 0, nullptr);
    uint64_t out[5], *pointer = out;
    set(kernel, 6, 8, &pointer);
    set(kernel, 5, size_t(device_properties.maxSharedLocalMemory) + 1, nullptr);
    const ze_group_count_t one{1, 1, 1};
    CHECK_RESULT(ze.zeCommandListAppendLaunchKernel(list, kernel, &one, nullptr, 0, nullptr),
                 ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY);
    set(kernel, 5, 4096, nullptr);
    OK(ze.zeCommandListAppendLaunchKernel(list, kernel, &one, nullptr, 0, nullptr));
    finish(list);
    ze_kernel_properties_t p{};
    p.stype = ZE_STRUCTURE_TYPE_KERNEL_PROPERTIES;
    OK(ze.zeKernelGetProperties(kernel, &p));
    CHECK(p.localMemSize == 4096);
    int value = 0;
    set(kernel, 5, 4, &value, ZE_RESULT_ERROR_INVALID_ARGUMENT);
}

static std::string attributes_of(const char *name) {
    const auto kernel = make_kernel(module, name);
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
        CHECK_RESULT(ze.zeKernelGetSourceAttributes(kernel, &shorter, &mine), ZE_RESULT_ERROR_INVALID_SIZE);
        CHECK(text[0] == '#');
    }
    char *nowhere = nullptr;
    CHECK_RESULT(ze.zeKernelGetSourceAttributes(kernel, &size, &nowhere),
                 ZE_RESULT_ERROR_INVALID_NULL_POINTER);
    OK(ze.zeKernelGetSourceAttributes(kernel, &size, &mine));
    return mine;
}

static void attributes() {
    CHECK(attributes_of("hints") == "work_group_size_hint(4,2,1) vec_type_hint(float4)");
    CHECK(attributes_of("required") == "reqd_work_group_size(16,2,1) intel_reqd_sub_group_size(8)");
    CHECK(attributes_of("sizes").empty());
}

/// ze_kernel_max_group_size_properties_ext_t, which older headers lack.
struct MaxGroupSize {
    ze_structure_type_t stype;
    void *next;
    uint32_t max_group_size;
};

static void properties() {
    const auto kernel = make_kernel(module, "count_items");
    MaxGroupSize most{ze_structure_type_t(0x10013), nullptr, 0};
    ze_kernel_properties_t p{};
    p.stype = ZE_STRUCTURE_TYPE_KERNEL_PROPERTIES;
    p.pNext = &most;
    OK(ze.zeKernelGetProperties(kernel, &p));
    CHECK(most.max_group_size > 0);
    OK(ze.zeKernelSetGroupSize(kernel, most.max_group_size, 1, 1));
    CHECK_RESULT(ze.zeKernelSetGroupSize(kernel, most.max_group_size + 1, 1, 1),
                 ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION);
    ze_scheduling_hint_exp_desc_t hint{ZE_STRUCTURE_TYPE_SCHEDULING_HINT_EXP_DESC, nullptr, 0};
    for (hint.flags = 0; hint.flags < 8; hint.flags++)
        OK(ze.zeKernelSchedulingHintExp(kernel, &hint));
    CHECK_RESULT(ze.zeKernelSchedulingHintExp(kernel, &hint), ZE_RESULT_ERROR_INVALID_ENUMERATION);
}

struct KernelAllocation { // ze_kernel_allocation_exp_properties_t, of newer headers
    uint32_t stype;
    void *next;
    uint64_t base;
    size_t size;
    ze_memory_type_t type;
    uint32_t argument;
};

static void allocations() {
    void *address = nullptr;
    OK(ze.zeDriverGetExtensionFunctionAddress(driver, "zeKernelGetAllocationPropertiesExp", &address));
    auto get = reinterpret_cast<ze_result_t (*)(ze_kernel_handle_t, uint32_t *, KernelAllocation *)>(address);
    const auto kernel = make_kernel(module, "sizes");
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
    KernelAllocation found{};
    OK(get(kernel, &count, &found));
    CHECK(found.base == reinterpret_cast<uintptr_t>(&out[0]) && found.size == 5 * sizeof(uint64_t) &&
          found.type == ZE_MEMORY_TYPE_SHARED && found.argument == 6);
}

int main(int argc, char **argv) {
    open_driver(argc, argv);
    module = load_module("launches.spv").release();
    list = immediate_list().release();
    sizes();
    wider_integers();
    local_memory();
    attributes();
    properties();
    allocations();
    std::puts("ok");
}
