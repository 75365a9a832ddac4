// SPDX-License-Identifier: Apache-2.0
// Attributes of atomic access: of shared allocations and of other memory of the process, in parts, bad input.
#include "ze_test.h"

namespace {

// ze_memory_atomic_attr_exp_flag_t
constexpr uint32_t no_atomics = 1, no_host = 2, of_host = 4, no_device = 8, of_device = 16, no_system = 32,
                   of_system = 64;
constexpr size_t bytes = 30000; // no whole number of pages

uint32_t attributes(const void *from, size_t size) {
    uint32_t value = 0xdead;
    OK(ze.zeMemGetAtomicAccessAttributeExp(context, device, from, size, &value));
    return value;
}

void each_attribute(const void *memory) {
    CHECK(attributes(memory, bytes) == 0);
    for (uint32_t value : {no_atomics, no_host, of_host, no_device, of_device, no_system, of_system,
                           of_host | of_device, no_system | of_device, no_atomics | no_host, 0u}) {
        OK(ze.zeMemSetAtomicAccessAttributeExp(context, device, memory, bytes, value));
        CHECK(attributes(memory, bytes) == value);
    }
}

/// A part has its own attributes, and all around it keeps what it had.
TEST(parts) {
    const auto memory = shared<char>(bytes);
    OK(ze.zeMemSetAtomicAccessAttributeExp(context, device, memory, bytes, of_host));
    OK(ze.zeMemSetAtomicAccessAttributeExp(context, device, memory + 1000, 500, of_device));
    CHECK(attributes(memory, 1000) == of_host && attributes(memory + 999, 1) == of_host);
    CHECK(attributes(memory + 1000, 500) == of_device && attributes(memory + 1499, 1) == of_device);
    CHECK(attributes(memory + 1500, bytes - 1500) == of_host);
    uint32_t value = 7;
    REFUSED(INVALID_ARGUMENT, ze.zeMemGetAtomicAccessAttributeExp(context, device, memory, 1001, &value));
    REFUSED(INVALID_ARGUMENT, ze.zeMemGetAtomicAccessAttributeExp(context, device, memory + 1499, 2, &value));
    CHECK(value == 7);
    CHECK(direct ? last_refusal().find("different attributes") != std::string::npos : true);
    OK(ze.zeMemSetAtomicAccessAttributeExp(context, device, memory + 1200, 1000,
                                           0)); // the end of the part, and what follows
    CHECK(attributes(memory + 1000, 200) == of_device && attributes(memory + 1200, 1000) == 0 &&
          attributes(memory + 2200, 1) == of_host);
    OK(ze.zeMemSetAtomicAccessAttributeExp(context, device, memory + 1000, 1200, of_host)); // whole again
    CHECK(attributes(memory, bytes) == of_host);
}

/// Freed memory has none when it comes back.
TEST(freed) {
    void *before = nullptr;
    {
        const auto memory = shared<char>(bytes);
        OK(ze.zeMemSetAtomicAccessAttributeExp(context, device, memory, bytes, no_device));
        before = memory;
    }
    CHECK(attributes(before, bytes) == 0);
}

TEST(bad_input) {
    const auto memory = shared<char>(bytes);
    REFUSED(INVALID_ARGUMENT, ze.zeMemSetAtomicAccessAttributeExp(context, device, memory, 0, of_host));
    REFUSED(INVALID_ARGUMENT,
            ze.zeMemSetAtomicAccessAttributeExp(context, device, memory, SIZE_MAX, of_host));
    REFUSED(INVALID_ARGUMENT,
            ze.zeMemSetAtomicAccessAttributeExp(context, device, memory, bytes + 1, of_host));
    REFUSED(INVALID_ARGUMENT,
            ze.zeMemSetAtomicAccessAttributeExp(context, device, memory + 1, bytes, of_host));
    REFUSED(INVALID_ENUMERATION, ze.zeMemSetAtomicAccessAttributeExp(context, device, memory, bytes, 1 << 7));
    for (uint32_t both :
         {no_host | of_host, no_device | of_device, no_system | of_system, no_atomics | of_host})
        REFUSED(INVALID_ARGUMENT, ze.zeMemSetAtomicAccessAttributeExp(context, device, memory, bytes, both));
    CHECK(attributes(memory, bytes) == 0);
    REFUSED(INVALID_NULL_POINTER, ze.zeMemSetAtomicAccessAttributeExp(context, device, nullptr, bytes, 0));

    void *of_host_only = allocate(ZE_MEMORY_TYPE_HOST, bytes);
    REFUSED(INVALID_ARGUMENT,
            ze.zeMemSetAtomicAccessAttributeExp(context, device, of_host_only, bytes, of_host));
    destroy(of_host_only);
}

TEST(attributes_of_memory) {
    const auto allocation = shared<char>(bytes);
    each_attribute(allocation);
    const std::vector<char> of_process(bytes);
    each_attribute(of_process.data());
}

} // namespace
