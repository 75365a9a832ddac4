// SPDX-License-Identifier: Apache-2.0
// Engines, streams and memories of Level Zero's handles, and the modules of a primitive descriptor.
#include <cstring>

#include "zemm/zemm_ze.h"
#include "zemm_test.hpp"

namespace {

ze_driver_handle_t driver() {
    return got(zemm_ze_interop_engine_get_driver, cpu());
}
ze_device_handle_t device() {
    return got(zemm_ze_interop_engine_get_device, cpu());
}
ze_context_handle_t context() {
    return got(zemm_ze_interop_engine_get_context, cpu());
}

} // namespace

TEST(engine_of_a_context) {
    const auto other = made(zemm_ze_interop_engine_create, driver(), device(), context());
    CHECK(got(zemm_engine_get_kind, other) == zemm_cpu);
    CHECK(got(zemm_ze_interop_engine_get_context, other) == context());
    CHECK(got(zemm_ze_interop_engine_get_device, other) == device());
    CHECK(got(zemm_ze_interop_engine_get_driver, other) == driver());
}

TEST(engine_of_a_blob) {
    uint8_t id[256], again[256], blob[256];
    size_t id_size = 0, again_size = sizeof again, size = 0, too_short = 3;
    const auto get_id = zemm_ze_interop_engine_get_cache_blob_id;
    OK(get_id(driver(), device(), &id_size, nullptr));
    CHECK(id_size > 0 && id_size <= sizeof id);
    OK(get_id(driver(), device(), &id_size, id));
    OK(get_id(driver(), device(), &again_size, again));
    CHECK(id_size == again_size && !std::memcmp(id, again, id_size));
    INVALID("", get_id(driver(), device(), &too_short, id));

    OK(zemm_ze_interop_engine_get_cache_blob(cpu(), &size, nullptr));
    CHECK(size > 0 && size <= sizeof blob);
    INVALID("", zemm_ze_interop_engine_get_cache_blob(cpu(), &too_short, blob));
    OK(zemm_ze_interop_engine_get_cache_blob(cpu(), &size, blob));
    own<zemm_engine_t> other;
    const auto create = [&](size_t bytes, const uint8_t *from) {
        return zemm_ze_interop_engine_create_from_cache_blob(&other, driver(), device(), context(), bytes,
                                                             from);
    };
    INVALID("", create(size, nullptr));
    INVALID("", create(size - 1, blob));
    INVALID("", create(0, blob));
    for (size_t i = 0; i < size; i++) { // any changed byte is refused
        blob[i] ^= 1;
        INVALID("", create(size, blob));
        blob[i] ^= 1;
    }
    CHECK(!other);
    OK(create(size, blob));
}

// The list of another stream serves as the caller's list. It outlives the stream that adopts it.
TEST(stream_of_a_list) {
    const auto owner = new_stream(cpu(), zemm_stream_in_order);
    ze_command_list_handle_t list = got(zemm_ze_interop_stream_get_list, owner);
    zemm_stream_t none = nullptr;
    int entries = -1;
    INVALID("", zemm_ze_interop_stream_create(&none, cpu(), list, 2));
    CHECK(list && !none);
    for (const int profiling : {0, 1}) {
        const auto adopted = made(zemm_ze_interop_stream_create, cpu(), list, profiling);
        CHECK(got(zemm_ze_interop_stream_get_list, adopted) == list);
        CHECK(got(zemm_stream_get_engine, adopted) == cpu());
        CHECK(zemm_query_profiling_data(adopted, zemm_profiling_data_kind_time, &entries, nullptr) ==
              (profiling ? zemm_success : zemm_invalid_arguments));
        OK(zemm_stream_wait(adopted));
    }
    OK(zemm_stream_wait(owner));
}

TEST(memory_of_usm) {
    const auto md = dense({100}, zemm_s8), scalar = made(zemm_memory_desc_create_host_scalar, zemm_s8);
    zemm_memory_t none = nullptr;
    void *handles[1] = {ZEMM_MEMORY_ALLOCATE};
    INVALID("", zemm_ze_interop_memory_create(&none, scalar, cpu(), 1, handles));
    INVALID("", zemm_ze_interop_memory_create(&none, md, cpu(), 2, handles));
    CHECK(!none);
    const auto owner = made(zemm_ze_interop_memory_create, md, cpu(), 1, handles);
    handles[0] = got(zemm_memory_get_data_handle, owner);
    CHECK(handles[0]);
    made(zemm_ze_interop_memory_create, md, cpu(), 1, handles);
}

static std::vector<zemm_ze_module_t> modules_of(const_zemm_primitive_desc_t pd) {
    const auto get = zemm_ze_interop_primitive_desc_get_modules;
    int count = -1;
    OK(get(pd, &count, nullptr));
    std::vector<zemm_ze_module_t> modules(4);
    int room = 4;
    OK(get(pd, &room, modules.data()));
    CHECK(room == count);
    for (int less : {0, count - 1})
        if (less < count && less >= 0) {
            const int before = less;
            INVALID("", get(pd, &less, modules.data()));
            CHECK(less == before);
        }
    modules.resize(size_t(count));
    for (const zemm_ze_module_t &m : modules) {
        CHECK(m.name[0] && m.kernel[0] && m.spirv_size % 4 == 0 && m.spirv_size > 20);
        CHECK(!std::memcmp(m.spirv, "\x03\x02\x23\x07", 4));
        CHECK(m.num_constants > 0 && m.num_constants <= ZEMM_ZE_MAX_CONSTANTS);
        CHECK(std::strlen(m.build_flags) < ZEMM_ZE_MAX_BUILD_FLAGS);
    }
    return modules;
}

TEST(modules) {
    const auto floats = dense({64, 64}, zemm_f32), bytes = tagged({64, 64}, zemm_s8, zemm_ba),
               empty = dense({0, 64}, zemm_f32);
    const auto pd = matmul(floats, floats, floats);
    do { // each implementation has its own modules
        const auto modules = modules_of(pd);
        CHECK(!modules.empty() && modules[0].name == impl_of(pd) &&
              modules[0].kernel == std::string("matmul"));
    } while (zemm_primitive_desc_next_impl(pd) == zemm_success);
    CHECK(modules_of(matmul(empty, floats, empty)).empty());
    const auto reorder = made(zemm_reorder_primitive_desc_create, floats, cpu(), bytes, cpu(), nullptr);
    CHECK(modules_of(reorder).size() == 1);
}
