/* SPDX-License-Identifier: Apache-2.0 */
#include "destroy.h"

static void test_flags(zemm_engine_t engine) {
    static const struct {
        unsigned flags;
        zemm_status_t expected;
    } rows[] = {
        {zemm_stream_default_flags, zemm_success},
        {zemm_stream_in_order, zemm_success},
        {zemm_stream_out_of_order, zemm_success},
        {zemm_stream_in_order | zemm_stream_profiling, zemm_success},
        {zemm_stream_profiling, zemm_success},
        {0, zemm_invalid_arguments},
        {8, zemm_invalid_arguments},
        {0x80000001u, zemm_invalid_arguments},
        {zemm_stream_in_order | zemm_stream_out_of_order, zemm_invalid_arguments},
        {zemm_stream_out_of_order | zemm_stream_profiling, zemm_invalid_arguments},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        zemm_stream_t stream = NULL;
        zemm_engine_t of = NULL;
        const zemm_status_t status = zemm_stream_create(&stream, engine, rows[i].flags);
        if (status != rows[i].expected)
            fprintf(stderr, "flags 0x%x: %s\n", rows[i].flags, zemm_status2str(status));
        CHECK(status == rows[i].expected);
        CHECK((stream != NULL) == (status == zemm_success));
        if (!stream)
            continue;
        CHECK(zemm_stream_get_engine(stream, &of) == zemm_success && of == engine);
        OK(zemm_stream_wait(stream));
        OK(zemm_stream_wait(stream));
        OK(zemm_stream_destroy(stream));
    }
}

static void test_profiling(zemm_engine_t engine) {
    zemm_stream_t plain = NULL, profiling = NULL;
    int entries = -1;
    uint64_t data[1] = {7};
    OK(zemm_stream_create(&plain, engine, zemm_stream_in_order));
    CHECK(zemm_reset_profiling(plain) == zemm_invalid_arguments);
    CHECK(zemm_query_profiling_data(plain, zemm_profiling_data_kind_time, &entries, NULL) ==
          zemm_invalid_arguments);
    CHECK(entries == -1);
    OK(zemm_stream_create(&profiling, engine, zemm_stream_in_order | zemm_stream_profiling));
    OK(zemm_reset_profiling(profiling));
    CHECK(zemm_query_profiling_data(profiling, zemm_profiling_data_kind_time, NULL, NULL) ==
          zemm_invalid_arguments);
    CHECK(zemm_query_profiling_data(profiling, zemm_profiling_data_kind_undef, &entries, NULL) ==
          zemm_invalid_arguments);
    CHECK(zemm_query_profiling_data(profiling, zemm_profiling_data_kind_cycles, &entries, NULL) ==
          zemm_unimplemented);
    CHECK(entries == -1);
    OK(zemm_query_profiling_data(profiling, zemm_profiling_data_kind_time, &entries, NULL));
    CHECK(entries == 0);
    OK(zemm_query_profiling_data(profiling, zemm_profiling_data_kind_time, &entries, data));
    CHECK(entries == 0 && data[0] == 7);
    DESTROY(plain, profiling);
}

int main(void) {
    zemm_engine_t engine = NULL;
    const zemm_engine_kind_t kind = zemm_engine_get_count(zemm_cpu) ? zemm_cpu : zemm_gpu;
    OK(zemm_stream_destroy(NULL));
    if (!zemm_engine_get_count(kind))
        return SKIP;
    OK(zemm_engine_create(&engine, kind, 0));
    test_flags(engine);
    test_profiling(engine);
    /* A stream works after its engine's handle is destroyed. Objects that are never destroyed do no
     * harm at exit. */
    static zemm_stream_t left_alone;
    OK(zemm_stream_create(&left_alone, engine, zemm_stream_in_order));
    OK(zemm_engine_destroy(engine));
    return 0;
}
