/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "destroy.h"
#include "zemm/zemm_ze.h"

static void test_engine(zemm_engine_t engine, ze_driver_handle_t driver, ze_device_handle_t device,
                        ze_context_handle_t context) {
    zemm_engine_t other = NULL;
    zemm_engine_kind_t kind, other_kind;
    ze_context_handle_t got_context = NULL;
    ze_device_handle_t got_device = NULL;
    ze_driver_handle_t got_driver = NULL;
    OK(zemm_ze_interop_engine_create(&other, driver, device, context));
    OK(zemm_engine_get_kind(engine, &kind));
    CHECK(zemm_engine_get_kind(other, &other_kind) == zemm_success && kind == other_kind);
    CHECK(zemm_ze_interop_engine_get_context(other, &got_context) == zemm_success && got_context == context);
    CHECK(zemm_ze_interop_engine_get_device(other, &got_device) == zemm_success && got_device == device);
    CHECK(zemm_ze_interop_engine_get_driver(other, &got_driver) == zemm_success && got_driver == driver);
    OK(zemm_engine_destroy(other));
}

static void test_blob(zemm_engine_t engine, ze_driver_handle_t driver, ze_device_handle_t device,
                      ze_context_handle_t context) {
    zemm_engine_t other = NULL;
    uint8_t id[256], id2[256], blob[256];
    size_t id_size = 0, id2_size = sizeof id2, blob_size = 0, short_size = 3;
    OK(zemm_ze_interop_engine_get_cache_blob_id(driver, device, &id_size, NULL));
    CHECK(id_size > 0 && id_size <= sizeof id);
    OK(zemm_ze_interop_engine_get_cache_blob_id(driver, device, &id_size, id));
    OK(zemm_ze_interop_engine_get_cache_blob_id(driver, device, &id2_size, id2));
    CHECK(id_size == id2_size && !memcmp(id, id2, id_size));
    CHECK(zemm_ze_interop_engine_get_cache_blob_id(driver, device, &short_size, id) ==
          zemm_invalid_arguments);

    OK(zemm_ze_interop_engine_get_cache_blob(engine, &blob_size, NULL));
    CHECK(blob_size > 0 && blob_size <= sizeof blob);
    CHECK(zemm_ze_interop_engine_get_cache_blob(engine, &short_size, blob) == zemm_invalid_arguments);
    OK(zemm_ze_interop_engine_get_cache_blob(engine, &blob_size, blob));
    CHECK(zemm_ze_interop_engine_create_from_cache_blob(&other, driver, device, context, blob_size, NULL) ==
          zemm_invalid_arguments);
    CHECK(zemm_ze_interop_engine_create_from_cache_blob(&other, driver, device, context, blob_size - 1,
                                                        blob) == zemm_invalid_arguments);
    CHECK(zemm_ze_interop_engine_create_from_cache_blob(&other, driver, device, context, 0, blob) ==
          zemm_invalid_arguments);
    for (size_t i = 0; i < blob_size; i++) { /* any changed byte is refused */
        blob[i] ^= 1;
        CHECK(zemm_ze_interop_engine_create_from_cache_blob(&other, driver, device, context, blob_size,
                                                            blob) == zemm_invalid_arguments);
        blob[i] ^= 1;
    }
    CHECK(!other);
    OK(zemm_ze_interop_engine_create_from_cache_blob(&other, driver, device, context, blob_size, blob));
    OK(zemm_engine_destroy(other));
}

/* The list of another stream serves as the caller's list. It outlives the stream that adopts it. */
static void test_stream(zemm_engine_t engine) {
    zemm_stream_t owner = NULL, adopted = NULL;
    zemm_engine_t of = NULL;
    ze_command_list_handle_t list = NULL, got = NULL;
    int entries = -1;
    OK(zemm_stream_create(&owner, engine, zemm_stream_in_order));
    CHECK(zemm_ze_interop_stream_get_list(owner, &list) == zemm_success && list);
    CHECK(zemm_ze_interop_stream_create(&adopted, engine, list, 2) == zemm_invalid_arguments);
    CHECK(!adopted);
    for (int profiling = 0; profiling < 2; profiling++) {
        OK(zemm_ze_interop_stream_create(&adopted, engine, list, profiling));
        CHECK(zemm_ze_interop_stream_get_list(adopted, &got) == zemm_success && got == list);
        CHECK(zemm_stream_get_engine(adopted, &of) == zemm_success && of == engine);
        CHECK(zemm_query_profiling_data(adopted, zemm_profiling_data_kind_time, &entries, NULL) ==
              (profiling ? zemm_success : zemm_invalid_arguments));
        OK(zemm_stream_wait(adopted));
        OK(zemm_stream_destroy(adopted));
    }
    OK(zemm_stream_wait(owner));
    OK(zemm_stream_destroy(owner));
}

static void test_memory(zemm_engine_t engine) {
    const zemm_dims_t dims = {100};
    zemm_memory_desc_t md = NULL, scalar = NULL;
    zemm_memory_t owner = NULL, memory = NULL;
    void *handles[1] = {ZEMM_MEMORY_ALLOCATE}, *usm = NULL;
    OK(zemm_memory_desc_create_with_tag(&md, 1, dims, zemm_s8, zemm_a));
    OK(zemm_memory_desc_create_host_scalar(&scalar, zemm_s8));
    CHECK(zemm_ze_interop_memory_create(&memory, scalar, engine, 1, handles) == zemm_invalid_arguments);
    CHECK(zemm_ze_interop_memory_create(&memory, md, engine, 2, handles) == zemm_invalid_arguments);
    CHECK(!memory);
    OK(zemm_ze_interop_memory_create(&owner, md, engine, 1, handles));
    CHECK(zemm_memory_get_data_handle(owner, &usm) == zemm_success && usm);
    handles[0] = usm;
    OK(zemm_ze_interop_memory_create(&memory, md, engine, 1, handles));
    DESTROY(memory, owner, md, scalar);
}

static void check_modules(const_zemm_primitive_desc_t pd, int expected) {
    zemm_ze_module_t modules[4];
    int count = -1, room = 4, none = 0, one_less;
    CHECK(zemm_ze_interop_primitive_desc_get_modules(pd, &count, NULL) == zemm_success && count == expected);
    CHECK(zemm_ze_interop_primitive_desc_get_modules(pd, &room, modules) == zemm_success && room == count);
    for (int i = 0; i < count; i++) {
        const uint8_t magic[4] = {0x03, 0x02, 0x23, 0x07};
        const zemm_ze_module_t *m = &modules[i];
        CHECK(m->name[0] && m->kernel[0] && m->spirv_size % 4 == 0 && m->spirv_size > 20);
        CHECK(!memcmp(m->spirv, magic, sizeof magic));
        CHECK(m->num_constants > 0 && m->num_constants <= ZEMM_ZE_MAX_CONSTANTS);
        CHECK(strlen(m->build_flags) < ZEMM_ZE_MAX_BUILD_FLAGS);
    }
    if (!count)
        return;
    one_less = count - 1;
    CHECK(zemm_ze_interop_primitive_desc_get_modules(pd, &one_less, modules) == zemm_invalid_arguments);
    CHECK(one_less == count - 1);
    CHECK(zemm_ze_interop_primitive_desc_get_modules(pd, &none, modules) == zemm_invalid_arguments);
}

static void test_modules(zemm_engine_t engine) {
    const zemm_dims_t dims = {64, 64}, nothing = {0, 64};
    zemm_memory_desc_t floats = NULL, bytes = NULL, empty = NULL;
    zemm_primitive_desc_t pd = NULL;
    OK(zemm_memory_desc_create_with_tag(&floats, 2, dims, zemm_f32, zemm_ab));
    OK(zemm_memory_desc_create_with_tag(&bytes, 2, dims, zemm_s8, zemm_ba));
    OK(zemm_memory_desc_create_with_tag(&empty, 2, nothing, zemm_f32, zemm_ab));
    OK(zemm_matmul_primitive_desc_create(&pd, engine, floats, floats, NULL, floats, NULL));
    do { /* each implementation has its own modules */
        zemm_ze_module_t modules[4];
        const char *name = NULL;
        int count = 4;
        OK(zemm_ze_interop_primitive_desc_get_modules(pd, &count, modules));
        check_modules(pd, count);
        OK(zemm_primitive_desc_query(pd, zemm_query_impl_info_str, 0, &name));
        CHECK(!strcmp(modules[0].name, name) && !strcmp(modules[0].kernel, "matmul"));
    } while (zemm_primitive_desc_next_impl(pd) == zemm_success);
    OK(zemm_primitive_desc_destroy(pd));
    OK(zemm_matmul_primitive_desc_create(&pd, engine, empty, floats, NULL, empty, NULL));
    check_modules(pd, 0);
    OK(zemm_primitive_desc_destroy(pd));
    OK(zemm_reorder_primitive_desc_create(&pd, floats, engine, bytes, engine, NULL));
    check_modules(pd, 1);
    DESTROY(pd, floats, bytes, empty);
}

int main(void) {
    zemm_engine_t engine = NULL;
    ze_context_handle_t context = NULL;
    ze_device_handle_t device = NULL;
    ze_driver_handle_t driver = NULL;
    const zemm_engine_kind_t kind = zemm_engine_get_count(zemm_cpu) ? zemm_cpu : zemm_gpu;
    if (!zemm_engine_get_count(kind))
        return SKIP;
    OK(zemm_engine_create(&engine, kind, 0));
    OK(zemm_ze_interop_engine_get_context(engine, &context));
    OK(zemm_ze_interop_engine_get_device(engine, &device));
    OK(zemm_ze_interop_engine_get_driver(engine, &driver));
    test_engine(engine, driver, device, context);
    test_blob(engine, driver, device, context);
    test_stream(engine);
    test_memory(engine);
    test_modules(engine);
    OK(zemm_engine_destroy(engine));
    return 0;
}
