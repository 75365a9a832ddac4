// SPDX-License-Identifier: Apache-2.0
// Several threads map and unmap one memory at once. Linked with libzemm's objects: the test tells the
// library that the device is a GPU, so that a mapping is a copy, as it is where the host cannot read
// the device's memory.
#include <array>
#include <cstring>

#include "in_threads.hpp"
#include "primitive/objects.hpp"
#include "zemm_test.hpp"

namespace {

constexpr int threads = 4, rounds = 2000;
constexpr std::array<float, 16> values = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

void map_and_unmap(zemm_memory_t memory) {
    for (int round = 0; round < rounds; round++) {
        void *const mapped = got(zemm_memory_map_data, memory);
        CHECK(!std::memcmp(mapped, values.data(), sizeof values));
        OK(zemm_memory_unmap_data(memory, mapped));
    }
}

// In the end nothing is mapped, so that the memory may get another buffer.
void test_threads(zemm_engine_t engine) {
    const auto memory = made(zemm_memory_create, dense({4, 4}, zemm_f32), engine, ZEMM_MEMORY_ALLOCATE);
    void *const mapped = got(zemm_memory_map_data, memory);
    std::memcpy(mapped, values.data(), sizeof values);
    OK(zemm_memory_unmap_data(memory, mapped));
    in_threads(threads, [&](int) { map_and_unmap(memory); });
    OK(zemm_memory_set_data_handle(memory, ZEMM_MEMORY_NONE));
}

void pretend_gpu(const zemm_engine &engine) {
    const_cast<zemm_engine_kind_t &>(engine.kind) = zemm_gpu;
    const_cast<zemm_engine_kind_t &>(engine.device->kind) = zemm_gpu;
    engine.device->host_pointers = false; // the library then allocates device memory
}

} // namespace

TEST(mappings) {
    const auto engine = made(zemm_engine_create, zemm_cpu, 0);
    test_threads(engine);
    pretend_gpu(*zemm_engine_t(engine));
    test_threads(engine);
}
