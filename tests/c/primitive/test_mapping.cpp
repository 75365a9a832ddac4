// SPDX-License-Identifier: Apache-2.0
// Several threads map and unmap one memory at once. Linked with libzemm's objects: the test tells the
// library that the device is a GPU, so that a mapping is a copy, as it is where the host cannot read
// the device's memory.
#include <array>
#include <cstring>
#include <thread>
#include <vector>

#include "primitive/objects.hpp"
#include "refusals.h"

namespace {

constexpr int threads = 4, rounds = 2000;
constexpr std::array<float, 16> values = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

zemm_memory_t make(zemm_engine_t engine) {
    const zemm_dims_t dims = {4, 4};
    zemm_memory_desc_t md = nullptr;
    zemm_memory_t memory = nullptr;
    OK(zemm_memory_desc_create_with_tag(&md, 2, dims, zemm_f32, zemm_ab));
    OK(zemm_memory_create(&memory, md, engine, ZEMM_MEMORY_ALLOCATE));
    OK(zemm_memory_desc_destroy(md));
    void *mapped = nullptr;
    OK(zemm_memory_map_data(memory, &mapped));
    std::memcpy(mapped, values.data(), sizeof values);
    OK(zemm_memory_unmap_data(memory, mapped));
    return memory;
}

void map_and_unmap(zemm_memory_t memory) {
    for (int round = 0; round < rounds; round++) {
        void *mapped = nullptr;
        OK(zemm_memory_map_data(memory, &mapped));
        CHECK(!std::memcmp(mapped, values.data(), sizeof values));
        OK(zemm_memory_unmap_data(memory, mapped));
    }
}

// In the end nothing is mapped, so that the memory may get another buffer.
void test_threads(zemm_engine_t engine) {
    const zemm_memory_t memory = make(engine);
    std::vector<std::thread> running;
    for (int i = 0; i < threads; i++)
        running.emplace_back(map_and_unmap, memory);
    for (std::thread &thread : running)
        thread.join();
    OK(zemm_memory_set_data_handle(memory, ZEMM_MEMORY_NONE));
    OK(zemm_memory_destroy(memory));
}

void pretend_gpu(const zemm_engine &engine) {
    const_cast<zemm_engine_kind_t &>(engine.kind) = zemm_gpu;
    const_cast<zemm_engine_kind_t &>(engine.device->kind) = zemm_gpu;
    engine.device->host_pointers = false; // the library then allocates device memory
}

} // namespace

int main() {
    if (!zemm_engine_get_count(zemm_cpu))
        return SKIP;
    zemm_engine_t engine = nullptr;
    OK(zemm_engine_create(&engine, zemm_cpu, 0));
    test_threads(engine);
    pretend_gpu(*engine);
    test_threads(engine);
    OK(zemm_engine_destroy(engine));
}
