// SPDX-License-Identifier: Apache-2.0
//
// Attributes of atomic access: of shared allocations and of other memory of the process, in parts, bad input.
#include "ze_test.h"

namespace {

using Set = ze_result_t (*)(ze_context_handle_t, ze_device_handle_t, const void *, size_t, uint32_t);
using Get = ze_result_t (*)(ze_context_handle_t, ze_device_handle_t, const void *, size_t, uint32_t *);
Set set;
Get get;

// ze_memory_atomic_attr_exp_flag_t
constexpr uint32_t no_atomics = 1, no_host = 2, of_host = 4, no_device = 8, of_device = 16, no_system = 32,
                   of_system = 64;
constexpr auto invalid = ZE_RESULT_ERROR_INVALID_ARGUMENT;
constexpr size_t bytes = 30000; // no whole number of pages

uint32_t attributes(const void *from, size_t size) {
    uint32_t value = 0xdead;
    OK(get(context, device, from, size, &value));
    return value;
}

void each_attribute(const void *memory) {
    CHECK(attributes(memory, bytes) == 0);
    for (uint32_t value : {no_atomics, no_host, of_host, no_device, of_device, no_system, of_system,
                           of_host | of_device, no_system | of_device, no_atomics | no_host, 0u}) {
        OK(set(context, device, memory, bytes, value));
        CHECK(attributes(memory, bytes) == value);
    }
}

/// A part has its own attributes, and all around it keeps what it had.
void parts() {
    const auto memory = shared<char>(bytes);
    OK(set(context, device, memory, bytes, of_host));
    OK(set(context, device, memory + 1000, 500, of_device));
    CHECK(attributes(memory, 1000) == of_host && attributes(memory + 999, 1) == of_host);
    CHECK(attributes(memory + 1000, 500) == of_device && attributes(memory + 1499, 1) == of_device);
    CHECK(attributes(memory + 1500, bytes - 1500) == of_host);
    uint32_t value = 7;
    CHECK_RESULT(get(context, device, memory, 1001, &value), invalid);
    CHECK_RESULT(get(context, device, memory + 1499, 2, &value), invalid);
    CHECK(value == 7);
    CHECK(direct ? last_refusal().find("different attributes") != std::string::npos : true);
    OK(set(context, device, memory + 1200, 1000, 0)); // the end of the part, and what follows
    CHECK(attributes(memory + 1000, 200) == of_device && attributes(memory + 1200, 1000) == 0 &&
          attributes(memory + 2200, 1) == of_host);
    OK(set(context, device, memory + 1000, 1200, of_host)); // whole again
    CHECK(attributes(memory, bytes) == of_host);
}

/// Freed memory has none when it comes back.
void freed() {
    void *before = nullptr;
    {
        const auto memory = shared<char>(bytes);
        OK(set(context, device, memory, bytes, no_device));
        before = memory;
    }
    CHECK(attributes(before, bytes) == 0);
}

void bad_input() {
    const auto memory = shared<char>(bytes);
    CHECK_RESULT(set(context, device, memory, 0, of_host), invalid);
    CHECK_RESULT(set(context, device, memory, SIZE_MAX, of_host), invalid);
    CHECK_RESULT(set(context, device, memory, bytes + 1, of_host), invalid);
    CHECK_RESULT(set(context, device, memory + 1, bytes, of_host), invalid);
    CHECK_RESULT(set(context, device, memory, bytes, 1 << 7), ZE_RESULT_ERROR_INVALID_ENUMERATION);
    for (uint32_t both :
         {no_host | of_host, no_device | of_device, no_system | of_system, no_atomics | of_host})
        CHECK_RESULT(set(context, device, memory, bytes, both), invalid);
    CHECK(attributes(memory, bytes) == 0);
    CHECK_RESULT(set(context, device, nullptr, bytes, 0), ZE_RESULT_ERROR_INVALID_NULL_POINTER);
    CHECK_RESULT(get(context, device, memory, bytes, nullptr), ZE_RESULT_ERROR_INVALID_NULL_POINTER);
    if (direct) {
        uint32_t value = 0;
        CHECK_RESULT(set(nullptr, device, memory, bytes, 0), ZE_RESULT_ERROR_INVALID_NULL_HANDLE);
        CHECK_RESULT(set(context, nullptr, memory, bytes, 0), ZE_RESULT_ERROR_INVALID_NULL_HANDLE);
        CHECK_RESULT(get(nullptr, device, memory, bytes, &value), ZE_RESULT_ERROR_INVALID_NULL_HANDLE);
    }

    const ze_host_mem_alloc_desc_t desc{ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC, nullptr, 0};
    void *of_host_only = nullptr;
    OK(ze.zeMemAllocHost(context, &desc, bytes, 0, &of_host_only));
    CHECK_RESULT(set(context, device, of_host_only, bytes, of_host), invalid);
    destroy(of_host_only);
}

} // namespace

int main(int argc, char **argv) {
    open_driver(argc, argv);
    const char *table = "zeGetMemExpProcAddrTable";
    set = reinterpret_cast<Set>(newer_function("zeMemSetAtomicAccessAttributeExp", table, 2));
    get = reinterpret_cast<Get>(newer_function("zeMemGetAtomicAccessAttributeExp", table, 3));
    const auto allocation = shared<char>(bytes);
    each_attribute(allocation);
    const std::vector<char> of_process(bytes);
    each_attribute(of_process.data());
    parts();
    freed();
    bad_input();
    std::puts("ok");
}
