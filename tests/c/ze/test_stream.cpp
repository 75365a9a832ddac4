// SPDX-License-Identifier: Apache-2.0
#include "zemm_test.hpp"

TEST(test_flags) {
    for (const unsigned flags : {unsigned(zemm_stream_default_flags), unsigned(zemm_stream_in_order),
                                 unsigned(zemm_stream_out_of_order), unsigned(zemm_stream_profiling),
                                 unsigned(zemm_stream_in_order | zemm_stream_profiling)}) {
        const auto stream = new_stream(cpu(), flags);
        CHECK(got(zemm_stream_get_engine, stream) == cpu());
        OK(zemm_stream_wait(stream));
        OK(zemm_stream_wait(stream));
    }
    zemm_stream_t none = nullptr;
    for (const unsigned flags :
         {0u, 8u, 0x80000001u, unsigned(zemm_stream_in_order | zemm_stream_out_of_order),
          unsigned(zemm_stream_out_of_order | zemm_stream_profiling)})
        INVALID("", zemm_stream_create(&none, cpu(), flags));
    CHECK(!none);
    OK(zemm_stream_destroy(nullptr));
}

TEST(test_profiling) {
    const auto plain = new_stream(cpu(), zemm_stream_in_order),
               profiling = new_stream(cpu(), zemm_stream_in_order | zemm_stream_profiling);
    const auto query = zemm_query_profiling_data;
    int entries = -1;
    uint64_t data[1] = {7};
    INVALID("", zemm_reset_profiling(plain));
    INVALID("", query(plain, zemm_profiling_data_kind_time, &entries, nullptr));
    OK(zemm_reset_profiling(profiling));
    INVALID("", query(profiling, zemm_profiling_data_kind_time, nullptr, nullptr));
    INVALID("", query(profiling, zemm_profiling_data_kind_undef, &entries, nullptr));
    UNIMPLEMENTED("", query(profiling, zemm_profiling_data_kind_cycles, &entries, nullptr));
    CHECK(entries == -1);
    OK(query(profiling, zemm_profiling_data_kind_time, &entries, nullptr));
    CHECK(entries == 0);
    OK(query(profiling, zemm_profiling_data_kind_time, &entries, data));
    CHECK(entries == 0 && data[0] == 7);
}

// A stream works after its engine's handle is destroyed. Objects that are never destroyed do no harm at exit.
TEST(left_alone) {
    static zemm_stream_t stream;
    const auto engine = made(zemm_engine_create, zemm_cpu, 0);
    OK(zemm_stream_create(&stream, engine, zemm_stream_in_order));
}
