/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "destroy.h"

static zemm_memory_desc_t desc(int ndims, zemm_dim_t d0, zemm_dim_t d1, zemm_data_type_t type,
                               zemm_format_tag_t tag) {
    const zemm_dims_t dims = {d0, d1};
    zemm_memory_desc_t md = NULL;
    OK(zemm_memory_desc_create_with_tag(&md, ndims, dims, type, tag));
    return md;
}

static void test_allocated(zemm_engine_t engine) {
    zemm_memory_desc_t md = desc(2, 16, 40, zemm_f32, zemm_ab);
    const_zemm_memory_desc_t own = NULL;
    zemm_memory_t memory = NULL;
    zemm_engine_t of = NULL;
    void *handle = NULL, *mapped = NULL, *again = NULL;
    zemm_engine_kind_t kind;
    OK(zemm_engine_get_kind(engine, &kind));
    /* What unmapping answers to another pointer than that of the mapping. */
    const zemm_status_t other = kind == zemm_cpu ? zemm_success : zemm_invalid_arguments;
    OK(zemm_memory_create(&memory, md, engine, ZEMM_MEMORY_ALLOCATE));
    OK(zemm_memory_get_memory_desc(memory, &own));
    CHECK(own != md && zemm_memory_desc_equal(own, md));
    CHECK(zemm_memory_get_engine(memory, &of) == zemm_success && of == engine);
    CHECK(zemm_memory_get_data_handle(memory, &handle) == zemm_success && handle);
    CHECK((uintptr_t)handle % 64 == 0);

    CHECK(zemm_memory_unmap_data(memory, handle) == other); /* not mapped */
    CHECK(zemm_memory_map_data(memory, &mapped) == zemm_success && mapped);
    CHECK(zemm_memory_map_data(memory, &again) == zemm_success && again == mapped);
    memset(mapped, 0x5a, 16 * 40 * 4);
    CHECK(zemm_memory_set_data_handle(memory, NULL) == zemm_invalid_arguments); /* not while it is mapped */
    CHECK(zemm_memory_unmap_data(memory, (char *)mapped + 1) == other);
    if (kind != zemm_cpu)
        OK(zemm_memory_unmap_data(memory, mapped));
    CHECK(zemm_memory_set_data_handle(memory, NULL) == zemm_invalid_arguments); /* still mapped once */
    OK(zemm_memory_unmap_data(memory, mapped));
    CHECK(zemm_memory_unmap_data(memory, NULL) == other);
    CHECK(zemm_memory_unmap_data(memory, mapped) == other);
    if (!getenv("SetCommandStreamReceiver")) { /* a simulator does not copy */
        OK(zemm_memory_map_data(memory, &mapped));
        for (int i = 0; i < 16 * 40 * 4; i++)
            CHECK(((unsigned char *)mapped)[i] == 0x5a);
        OK(zemm_memory_unmap_data(memory, mapped));
    }

    CHECK(zemm_memory_map_data_v2(memory, &mapped, 1) == zemm_invalid_arguments);
    CHECK(zemm_memory_map_data_v2(memory, &mapped, -1) == zemm_invalid_arguments);
    CHECK(zemm_memory_get_data_handle_v2(memory, &handle, 1) == zemm_invalid_arguments);
    OK(zemm_memory_set_data_handle(memory, handle)); /* the buffer that it already has */
    CHECK(zemm_memory_set_data_handle(memory, ZEMM_MEMORY_ALLOCATE) == zemm_invalid_arguments);
    OK(zemm_memory_set_data_handle(memory, ZEMM_MEMORY_NONE));
    CHECK(zemm_memory_get_data_handle(memory, &again) == zemm_success && !again);
    CHECK(zemm_memory_map_data(memory, &mapped) == zemm_success && !mapped);
    OK(zemm_memory_unmap_data(memory, NULL));
    DESTROY(memory, md);
}

/* Handles of the caller: USM that another memory has allocated here, and ordinary host memory. */
static void test_handles(zemm_engine_t engine) {
    zemm_memory_desc_t large = desc(1, 4096, 0, zemm_u8, zemm_a), small = desc(1, 1000, 0, zemm_u8, zemm_a);
    zemm_engine_kind_t kind;
    zemm_memory_t owner = NULL, user = NULL, untouched = NULL;
    void *usm = NULL, *mapped = NULL;
    static unsigned char ordinary[4096];
    OK(zemm_engine_get_kind(engine, &kind));
    OK(zemm_memory_create(&owner, large, engine, ZEMM_MEMORY_ALLOCATE));
    OK(zemm_memory_get_data_handle(owner, &usm));
    OK(zemm_memory_create(&user, small, engine, usm));
    OK(zemm_memory_set_data_handle(user, (char *)usm + 3000));
    /* drivers may round the allocation up to whole pages; this is exactly one */
    CHECK(zemm_memory_set_data_handle(user, (char *)usm + 3500) == zemm_invalid_arguments);
    CHECK(strstr(zemm_last_error(), "memory too small") && strstr(zemm_last_error(), "1000") &&
          strstr(zemm_last_error(), "596"));
    CHECK(zemm_memory_get_data_handle(user, &mapped) == zemm_success && mapped == (char *)usm + 3000);
    CHECK(zemm_memory_create(&untouched, large, engine, (char *)usm + 1) == zemm_invalid_arguments &&
          !untouched);
    if (kind == zemm_cpu) {
        OK(zemm_memory_set_data_handle(user, ordinary + 1));
        CHECK(zemm_memory_map_data(user, &mapped) == zemm_success && mapped == ordinary + 1);
        OK(zemm_memory_unmap_data(user, mapped));
    } else {
        CHECK(zemm_memory_set_data_handle(user, ordinary) == zemm_invalid_arguments);
        CHECK(zemm_memory_create(&untouched, small, engine, ordinary) == zemm_invalid_arguments &&
              !untouched);
        printf("%s\n", zemm_last_error());
    }
    DESTROY(user, owner, large, small);
}

static void test_refusals(zemm_engine_t engine) {
    zemm_memory_desc_t plain = desc(2, 4, 4, zemm_f32, zemm_ab),
                       any = desc(2, 4, 4, zemm_f32, zemm_format_tag_any);
    zemm_memory_desc_t runtime = desc(2, ZEMM_RUNTIME_DIM_VAL, 4, zemm_f32, zemm_ab);
    zemm_memory_desc_t scalar = NULL;
    zemm_memory_t memory = NULL;
    void *handles[2] = {NULL, NULL};
    OK(zemm_memory_desc_create_host_scalar(&scalar, zemm_f32));
    CHECK(zemm_memory_create(&memory, any, engine, NULL) == zemm_invalid_arguments);
    CHECK(zemm_memory_create(&memory, runtime, engine, NULL) == zemm_invalid_arguments);
    CHECK(zemm_memory_create(&memory, scalar, engine, NULL) == zemm_invalid_arguments);
    CHECK(zemm_memory_create_v2(&memory, plain, engine, 0, handles) == zemm_invalid_arguments);
    CHECK(zemm_memory_create_v2(&memory, plain, engine, -1, handles) == zemm_invalid_arguments);
    CHECK(zemm_memory_create_v2(&memory, plain, engine, 2, handles) == zemm_invalid_arguments);
    CHECK(!memory);
    OK(zemm_memory_create_v2(&memory, plain, engine, 1, handles));
    CHECK(zemm_memory_get_host_scalar_value(memory, handles) == zemm_invalid_arguments);
    CHECK(zemm_memory_set_host_scalar_value(memory, handles) == zemm_invalid_arguments);
    OK(zemm_memory_destroy(memory));
    OK(zemm_memory_destroy(NULL));
    zemm_memory_desc_destroy(plain);
    zemm_memory_desc_destroy(any);
    zemm_memory_desc_destroy(runtime);
    zemm_memory_desc_destroy(scalar);
}

/* Memories of no bytes: a zero descriptor, no descriptor, or a dimension of 0. */
static void test_empty(zemm_engine_t engine) {
    zemm_memory_desc_t empty = desc(2, 0, 4, zemm_f32, zemm_ab);
    zemm_memory_t memory = NULL;
    char *nowhere = (char *)64;
    void *mapped = &memory;
    OK(zemm_memory_create(&memory, NULL, engine, ZEMM_MEMORY_ALLOCATE));
    CHECK(zemm_memory_map_data(memory, &mapped) == zemm_success && !mapped);
    OK(zemm_memory_unmap_data(memory, mapped));
    OK(zemm_memory_destroy(memory));
    OK(zemm_memory_create(&memory, empty, engine, ZEMM_MEMORY_ALLOCATE));
    mapped = &memory;
    CHECK(zemm_memory_map_data(memory, &mapped) == zemm_success && !mapped);
    OK(zemm_memory_set_data_handle(memory, nowhere)); /* nobody reads it */
    CHECK(zemm_memory_map_data(memory, &mapped) == zemm_success && !mapped);
    DESTROY(memory, empty);
}

/* A descriptor may be larger than any memory. */
static void test_too_large(zemm_engine_t engine) {
    zemm_memory_desc_t md = desc(1, INT64_MAX, 0, zemm_u8, zemm_a), untouched = NULL;
    zemm_memory_t memory = NULL;
    zemm_primitive_desc_t pd = NULL;
    CHECK(zemm_memory_desc_get_size(md) == INT64_MAX);
    CHECK(zemm_memory_create(&memory, md, engine, ZEMM_MEMORY_ALLOCATE) == zemm_out_of_memory && !memory);
    OK(zemm_memory_create(&memory, md, engine, ZEMM_MEMORY_NONE));
    OK(zemm_memory_destroy(memory));
    CHECK(zemm_reorder_primitive_desc_create(&pd, md, engine, md, engine, NULL) == zemm_unimplemented && !pd);
    CHECK(strstr(zemm_last_error(), "2^60"));
    CHECK(zemm_memory_desc_set_data_type(md, zemm_f16) == zemm_invalid_arguments);
    CHECK(zemm_memory_desc_create_with_tag(&untouched, 1, (zemm_dims_t){INT64_MAX}, zemm_f16, zemm_a) ==
              zemm_invalid_arguments &&
          !untouched);
    zemm_memory_desc_destroy(md);
}

static void test_sparse(zemm_engine_t engine) {
    const zemm_dims_t dims = {8, 16};
    zemm_memory_desc_t md = NULL;
    zemm_memory_t memory = NULL;
    void *handles[3] = {ZEMM_MEMORY_ALLOCATE, ZEMM_MEMORY_NONE, ZEMM_MEMORY_ALLOCATE}, *got = NULL;
    OK(zemm_memory_desc_create_with_csr_encoding(&md, 2, dims, zemm_f32, 10, zemm_s32, zemm_s32));
    CHECK(zemm_memory_create_v2(&memory, md, engine, 2, handles) == zemm_invalid_arguments);
    OK(zemm_memory_create_v2(&memory, md, engine, 3, handles));
    CHECK(zemm_memory_get_data_handle_v2(memory, &got, 1) == zemm_success && !got);
    CHECK(zemm_memory_get_data_handle_v2(memory, &got, 2) == zemm_success && got);
    CHECK(zemm_memory_get_data_handle_v2(memory, &got, 3) == zemm_invalid_arguments);
    CHECK(zemm_memory_map_data_v2(memory, &got, 2) == zemm_success && got);
    memset(got, 0, zemm_memory_desc_get_size_v2(md, 2));
    OK(zemm_memory_unmap_data_v2(memory, got, 2));
    OK(zemm_memory_destroy(memory));
    OK(zemm_memory_create(&memory, md, engine, ZEMM_MEMORY_ALLOCATE));
    for (int i = 0; i < 3; i++)
        CHECK(zemm_memory_get_data_handle_v2(memory, &got, i) == zemm_success && got);
    CHECK(zemm_memory_create(&memory, md, engine, got) == zemm_invalid_arguments);
    DESTROY(memory, md);
}

/* Host scalars need no device. */
static void test_host_scalar(void) {
    zemm_memory_desc_t md = NULL, dense = desc(1, 1, 0, zemm_f32, zemm_a);
    zemm_memory_t memory = NULL;
    zemm_engine_t engine = (zemm_engine_t)&md;
    float value = 2.5f, got = 0.f;
    void *handle = NULL;
    OK(zemm_memory_desc_create_host_scalar(&md, zemm_f32));
    CHECK(zemm_memory_create_host_scalar(&memory, dense, &value) == zemm_invalid_arguments);
    OK(zemm_memory_create_host_scalar(&memory, md, &value));
    value = 0.f; /* it has been copied */
    CHECK(zemm_memory_get_host_scalar_value(memory, &got) == zemm_success && got == 2.5f);
    value = -1.f;
    OK(zemm_memory_set_host_scalar_value(memory, &value));
    CHECK(zemm_memory_get_host_scalar_value(memory, &got) == zemm_success && got == -1.f);
    CHECK(zemm_memory_get_engine(memory, &engine) == zemm_success && !engine);
    CHECK(zemm_memory_get_data_handle(memory, &handle) == zemm_invalid_arguments);
    CHECK(zemm_memory_set_data_handle(memory, &value) == zemm_invalid_arguments);
    CHECK(zemm_memory_map_data(memory, &handle) == zemm_success && *(float *)handle == -1.f);
    *(float *)handle = 7.f; /* the value itself is mapped */
    OK(zemm_memory_unmap_data(memory, handle));
    CHECK(zemm_memory_get_host_scalar_value(memory, &got) == zemm_success && got == 7.f);
    CHECK(zemm_memory_map_data_v2(memory, &handle, 1) == zemm_invalid_arguments);
    CHECK(zemm_memory_unmap_data_v2(memory, handle, 1) == zemm_invalid_arguments);
    DESTROY(memory, md, dense);
}

int main(void) {
    zemm_engine_t engine = NULL;
    const zemm_engine_kind_t kind = zemm_engine_get_count(zemm_cpu) ? zemm_cpu : zemm_gpu;
    test_host_scalar();
    if (!zemm_engine_get_count(kind))
        return SKIP;
    OK(zemm_engine_create(&engine, kind, 0));
    test_allocated(engine);
    test_handles(engine);
    test_refusals(engine);
    test_empty(engine);
    test_too_large(engine);
    test_sparse(engine);
    OK(zemm_engine_destroy(engine));
    return 0;
}
