// SPDX-License-Identifier: Apache-2.0
// The reorder primitive through the C API: queries, engines, compensations.
#include <cstring>

#include "zemm_test.hpp"

// oneDNN's test programs write compensations into their own struct of a descriptor: 128 bytes, which begin
// with the flags, at either of two places.
TEST(compensations) {
    for (const size_t place : {640, 752}) {
        const auto md = dense({4}, zemm_s8), with = dense({4}, zemm_s8);
        zemm_primitive_desc_t pd = nullptr;
        uint64_t extra[16] = {1};
        extra[15] = 48;
        std::memcpy(reinterpret_cast<char *>(zemm_memory_desc_t(with)) + place, extra, sizeof extra);
        UNIMPLEMENTED("compensations",
                      zemm_reorder_primitive_desc_create(&pd, md, cpu(), with, cpu(), nullptr));
        CHECK(!pd);
    }
}

// Two engines on one device may be mixed. Each memory belongs to its own engine.
TEST(engines_of_a_reorder) {
    const auto src = dense({64, 64}, zemm_s8), dst = tagged({64, 64}, zemm_s8, zemm_BA16a64b4a);
    const auto other = made(zemm_engine_create, zemm_cpu, 0);
    const auto pd = made(zemm_reorder_primitive_desc_create, src, other, dst, cpu(), nullptr);
    const auto md = [&](zemm_query_t what) { return zemm_primitive_desc_query_md(pd, what, 0); };
    int number = 0;
    CHECK(queried<zemm_engine_t>(pd, zemm_query_reorder_src_engine) == other);
    CHECK(queried<zemm_engine_t>(pd, zemm_query_reorder_dst_engine) == cpu());
    CHECK(queried<zemm_primitive_kind_t>(pd, zemm_query_primitive_kind) == zemm_reorder);
    CHECK(queried<int>(pd, zemm_query_num_of_inputs_s32) == 1);
    CHECK(queried<int>(pd, zemm_query_num_of_outputs_s32) == 1);
    CHECK(zemm_memory_desc_equal(md(zemm_query_src_md), src));
    CHECK(zemm_memory_desc_equal(md(zemm_query_dst_md), dst));
    CHECK(queried<int>(md(zemm_query_weights_md), zemm_query_ndims_s32) == 0);
    UNIMPLEMENTED("reorder", zemm_primitive_desc_query(pd, zemm_query_prop_kind, 0, &number));
    CHECK(got(zemm_primitive_desc_get_attr, pd));
    auto copy = made(zemm_primitive_desc_clone, pd);
    CHECK(impl_of(pd) == "reorder_pack");
    OK(zemm_primitive_desc_next_impl(pd));
    CHECK(impl_of(pd) == "reorder");
    CHECK(zemm_primitive_desc_next_impl(pd) == zemm_last_impl_reached);
    CHECK(impl_of(copy) == "reorder_pack");

    int8_t in[64][64], out[64 * 64];
    unsigned state = 7;
    draw(in, state, -128, 127);
    const auto primitive = made(zemm_primitive_create, copy);
    copy.end();
    const auto from = made(zemm_memory_create, src, other, in),
               to = made(zemm_memory_create, dst, cpu(), out),
               of_cpu = made(zemm_memory_create, src, cpu(), in);
    const auto stream = new_stream(cpu(), zemm_stream_in_order);
    const zemm_exec_arg_t args[] = {{ZEMM_ARG_FROM, from}, {ZEMM_ARG_TO, to}},
                          wrong[] = {{ZEMM_ARG_FROM, of_cpu}, {ZEMM_ARG_TO, to}};
    INVALID("ZEMM_ARG_DST is missing", zemm_primitive_execute(primitive, stream, 1, args));
    INVALID("another engine", zemm_primitive_execute(primitive, stream, 2, wrong));
    OK(zemm_primitive_execute(primitive, stream, 2, args));
    OK(zemm_stream_wait(stream));
    for (int k = 0; k < 64; k++)
        for (int n = 0; n < 64; n++)
            CHECK(out[(k / 4 * 64 + n) * 4 + k % 4] == in[k][n]);
}
