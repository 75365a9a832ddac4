// SPDX-License-Identifier: Apache-2.0
// Memories: handles, mappings, refusals; those without bytes, sparse ones and host scalars.
#include <cstring>

#include "zemm_test.hpp"

namespace {

// The CPU, or a GPU where there is no CPU device.
zemm_engine_t engine() {
    static const zemm_engine_t gpu = [] {
        zemm_engine_t made = nullptr;
        if (!zemm_engine_get_count(zemm_cpu) && zemm_engine_get_count(zemm_gpu))
            OK(zemm_engine_create(&made, zemm_gpu, 0));
        return made;
    }();
    return gpu ? gpu : cpu();
}
bool on_cpu() {
    return got(zemm_engine_get_kind, engine()) == zemm_cpu;
}

void *mapped(zemm_memory_t memory) {
    return got(zemm_memory_map_data, memory);
}
void *handle_of(zemm_memory_t memory) {
    return got(zemm_memory_get_data_handle, memory);
}
own<zemm_memory_t> make(const tensor &md, void *data = ZEMM_MEMORY_ALLOCATE) {
    return made(zemm_memory_create, md, engine(), data);
}

} // namespace

// Host scalars need no device.
TEST(test_host_scalar) {
    const auto md = made(zemm_memory_desc_create_host_scalar, zemm_f32);
    zemm_memory_t none = nullptr;
    void *handle = nullptr;
    float value = 2.5f;
    INVALID("", zemm_memory_create_host_scalar(&none, dense({1}, zemm_f32), &value));
    const auto memory = made(zemm_memory_create_host_scalar, md, &value);
    const auto now = [&] {
        float found = 0.f;
        OK(zemm_memory_get_host_scalar_value(memory, &found));
        return found;
    };
    value = -1.f; // the first value has been copied
    CHECK(now() == 2.5f);
    OK(zemm_memory_set_host_scalar_value(memory, &value));
    CHECK(now() == -1.f && !got(zemm_memory_get_engine, memory));
    INVALID("", zemm_memory_get_data_handle(memory, &handle));
    INVALID("", zemm_memory_set_data_handle(memory, &value));
    auto *const inside = static_cast<float *>(mapped(memory));
    CHECK(*inside == -1.f);
    *inside = 7.f; // the value itself is mapped
    OK(zemm_memory_unmap_data(memory, inside));
    CHECK(now() == 7.f);
    INVALID("", zemm_memory_map_data_v2(memory, &handle, 1));
    INVALID("", zemm_memory_unmap_data_v2(memory, inside, 1));
}

TEST(allocated) {
    const auto md = dense({16, 40}, zemm_f32);
    const auto memory = make(md);
    const_zemm_memory_desc_t own_md = got(zemm_memory_get_memory_desc, memory);
    void *const handle = handle_of(memory), *other_handle = nullptr;
    // The answer to unmapping another pointer than that of the mapping.
    const zemm_status_t other = on_cpu() ? zemm_success : zemm_invalid_arguments;
    CHECK(own_md != md && zemm_memory_desc_equal(own_md, md));
    CHECK(got(zemm_memory_get_engine, memory) == engine());
    CHECK(handle && uintptr_t(handle) % 64 == 0);

    CHECK(zemm_memory_unmap_data(memory, handle) == other); // not mapped
    char *const data = static_cast<char *>(mapped(memory));
    CHECK(data && mapped(memory) == data);
    std::memset(data, 0x5a, 16 * 40 * 4);
    INVALID("", zemm_memory_set_data_handle(memory, nullptr)); // not while it is mapped
    CHECK(zemm_memory_unmap_data(memory, data + 1) == other);
    if (!on_cpu())
        OK(zemm_memory_unmap_data(memory, data));
    INVALID("", zemm_memory_set_data_handle(memory, nullptr)); // still mapped once
    OK(zemm_memory_unmap_data(memory, data));
    CHECK(zemm_memory_unmap_data(memory, nullptr) == other);
    CHECK(zemm_memory_unmap_data(memory, data) == other);
    if (!getenv("SetCommandStreamReceiver")) { // a simulator does not copy
        char *const again = static_cast<char *>(mapped(memory));
        CHECK(std::string(again, 16 * 40 * 4) == std::string(16 * 40 * 4, 0x5a));
        OK(zemm_memory_unmap_data(memory, again));
    }

    INVALID("", zemm_memory_map_data_v2(memory, &other_handle, 1));
    INVALID("", zemm_memory_map_data_v2(memory, &other_handle, -1));
    INVALID("", zemm_memory_get_data_handle_v2(memory, &other_handle, 1));
    OK(zemm_memory_set_data_handle(memory, handle)); // the buffer that it already has
    INVALID("", zemm_memory_set_data_handle(memory, ZEMM_MEMORY_ALLOCATE));
    OK(zemm_memory_set_data_handle(memory, ZEMM_MEMORY_NONE));
    CHECK(!handle_of(memory) && !mapped(memory));
    OK(zemm_memory_unmap_data(memory, nullptr));
}

// Handles of the caller: USM that another memory has allocated here, and ordinary host memory.
TEST(handles) {
    static char ordinary[4096];
    const auto large = dense({4096}, zemm_u8), small = dense({1000}, zemm_u8);
    const auto owner = make(large);
    char *const usm = static_cast<char *>(handle_of(owner));
    const auto user = make(small, usm);
    zemm_memory_t none = nullptr;
    OK(zemm_memory_set_data_handle(user, usm + 3000));
    // Drivers may round the allocation up to whole pages; this is exactly one.
    INVALID("memory too small", zemm_memory_set_data_handle(user, usm + 3500));
    CHECK(strstr(zemm_last_error(), "1000") && strstr(zemm_last_error(), "596"));
    CHECK(handle_of(user) == usm + 3000);
    INVALID("", zemm_memory_create(&none, large, engine(), usm + 1));
    if (on_cpu()) {
        OK(zemm_memory_set_data_handle(user, ordinary + 1));
        CHECK(mapped(user) == ordinary + 1);
        OK(zemm_memory_unmap_data(user, ordinary + 1));
    } else {
        INVALID("", zemm_memory_set_data_handle(user, ordinary));
        INVALID("", zemm_memory_create(&none, small, engine(), ordinary));
    }
    CHECK(!none);
}

TEST(refusals) {
    const auto plain = dense({4, 4}, zemm_f32);
    zemm_memory_t none = nullptr;
    void *handles[2] = {};
    for (const auto &md :
         {tagged({4, 4}, zemm_f32, zemm_format_tag_any), tagged({ZEMM_RUNTIME_DIM_VAL, 4}, zemm_f32, zemm_ab),
          made(zemm_memory_desc_create_host_scalar, zemm_f32)})
        INVALID("", zemm_memory_create(&none, md, engine(), nullptr));
    for (const int count : {0, -1, 2})
        INVALID("", zemm_memory_create_v2(&none, plain, engine(), count, handles));
    CHECK(!none);
    const auto memory = made(zemm_memory_create_v2, plain, engine(), 1, handles);
    INVALID("", zemm_memory_get_host_scalar_value(memory, handles));
    INVALID("", zemm_memory_set_host_scalar_value(memory, handles));
    OK(zemm_memory_destroy(nullptr));
}

// Memories of no bytes: no descriptor, or a dimension of 0.
TEST(without_bytes) {
    const auto nothing = make(tensor());
    CHECK(!mapped(nothing));
    OK(zemm_memory_unmap_data(nothing, nullptr));
    const auto empty = make(dense({0, 4}, zemm_f32));
    CHECK(!mapped(empty));
    OK(zemm_memory_set_data_handle(empty, reinterpret_cast<void *>(64))); // nobody reads it
    CHECK(!mapped(empty));
}

// A descriptor may be larger than any memory.
TEST(too_large) {
    const auto md = dense({INT64_MAX}, zemm_u8);
    zemm_memory_desc_t untouched = nullptr;
    zemm_memory_t none = nullptr;
    zemm_primitive_desc_t pd = nullptr;
    const zemm_dim_t most = INT64_MAX;
    CHECK(zemm_memory_desc_get_size(md) == INT64_MAX);
    REFUSED(zemm_out_of_memory, "9223372036854775807",
            zemm_memory_create(&none, md, engine(), ZEMM_MEMORY_ALLOCATE));
    make(md, ZEMM_MEMORY_NONE);
    UNIMPLEMENTED("2^60", zemm_reorder_primitive_desc_create(&pd, md, engine(), md, engine(), nullptr));
    INVALID("", zemm_memory_desc_set_data_type(md, zemm_f16));
    INVALID("", zemm_memory_desc_create_with_tag(&untouched, 1, &most, zemm_f16, zemm_a));
    CHECK(!none && !pd && !untouched);
}

TEST(test_sparse) {
    const zemm_dims_t dims = {8, 16};
    const auto md =
        made(zemm_memory_desc_create_with_csr_encoding, 2, dims, zemm_f32, 10, zemm_s32, zemm_s32);
    zemm_memory_t none = nullptr;
    void *handles[3] = {ZEMM_MEMORY_ALLOCATE, ZEMM_MEMORY_NONE, ZEMM_MEMORY_ALLOCATE}, *found = nullptr;
    INVALID("", zemm_memory_create_v2(&none, md, engine(), 2, handles));
    const auto memory = made(zemm_memory_create_v2, md, engine(), 3, handles);
    OK(zemm_memory_get_data_handle_v2(memory, &found, 1));
    CHECK(!found);
    OK(zemm_memory_get_data_handle_v2(memory, &found, 2));
    CHECK(found);
    INVALID("", zemm_memory_get_data_handle_v2(memory, &found, 3));
    OK(zemm_memory_map_data_v2(memory, &found, 2));
    std::memset(found, 0, zemm_memory_desc_get_size_v2(md, 2));
    OK(zemm_memory_unmap_data_v2(memory, found, 2));
    const auto whole = make(md);
    for (int i = 0; i < 3; i++) {
        OK(zemm_memory_get_data_handle_v2(whole, &found, i));
        CHECK(found);
    }
    INVALID("", zemm_memory_create(&none, md, engine(), found));
}
