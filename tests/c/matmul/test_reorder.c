/* SPDX-License-Identifier: Apache-2.0 */
/* The reorder primitive through the C API: queries, engines, compensations. */
#include "matmul_call.h"

static zemm_engine_t engine;
static zemm_stream_t stream;

/* oneDNN's test programs write compensations into their own struct of a descriptor: 128 bytes, which begin
 * with the flags, at either of two places. */
static void compensations(void) {
    const size_t places[] = {640, 752};
    for (int i = 0; i < 2; i++) {
        zemm_memory_desc_t md = dense(1, DIMS(4), zemm_s8), with = dense(1, DIMS(4), zemm_s8);
        zemm_primitive_desc_t pd = NULL;
        const uint64_t extra[16] = {[0] = 1, [15] = 48};
        memcpy((char *)with + places[i], extra, sizeof extra);
        UNIMPLEMENTED("compensations",
                      zemm_reorder_primitive_desc_create(&pd, md, engine, with, engine, NULL));
        CHECK(!pd);
        DESTROY(md, with);
    }
}

/* Two engines on one device may be mixed. Each memory belongs to its own engine. */
static void queries(void) {
    static const zemm_dims_t dims = {64, 64};
    zemm_memory_desc_t src = dense(2, dims, zemm_s8), dst = NULL;
    zemm_engine_t other = NULL, found = NULL;
    zemm_primitive_desc_t pd = NULL, copy = NULL;
    const_zemm_primitive_attr_t attr = NULL;
    zemm_primitive_t primitive = NULL;
    zemm_primitive_kind_t kind = zemm_undefined_primitive;
    const char *name = NULL;
    int number = 0;
    OK(zemm_engine_create(&other, zemm_cpu, 0));
    OK(zemm_memory_desc_create_with_tag(&dst, 2, dims, zemm_s8, zemm_BA16a64b4a));
    OK(zemm_reorder_primitive_desc_create(&pd, src, other, dst, engine, NULL));
    OK(zemm_primitive_desc_query(pd, zemm_query_reorder_src_engine, 0, &found));
    CHECK(found == other);
    OK(zemm_primitive_desc_query(pd, zemm_query_reorder_dst_engine, 0, &found));
    CHECK(found == engine);
    OK(zemm_primitive_desc_query(pd, zemm_query_primitive_kind, 0, &kind));
    CHECK(kind == zemm_reorder);
    CHECK(zemm_primitive_desc_query_s32(pd, zemm_query_num_of_inputs_s32, 0) == 1);
    CHECK(zemm_primitive_desc_query_s32(pd, zemm_query_num_of_outputs_s32, 0) == 1);
    CHECK(zemm_memory_desc_equal(zemm_primitive_desc_query_md(pd, zemm_query_src_md, 0), src));
    CHECK(zemm_memory_desc_equal(zemm_primitive_desc_query_md(pd, zemm_query_dst_md, 0), dst));
    OK(zemm_memory_desc_query(zemm_primitive_desc_query_md(pd, zemm_query_weights_md, 0),
                              zemm_query_ndims_s32, &number));
    CHECK(number == 0);
    UNIMPLEMENTED("reorder", zemm_primitive_desc_query(pd, zemm_query_prop_kind, 0, &number));
    OK(zemm_primitive_desc_get_attr(pd, &attr));
    CHECK(attr);
    OK(zemm_primitive_desc_clone(&copy, pd));
    OK(zemm_primitive_desc_query(pd, zemm_query_impl_info_str, 0, &name));
    CHECK(strcmp(name, "reorder_pack") == 0);
    OK(zemm_primitive_desc_next_impl(pd));
    OK(zemm_primitive_desc_query(pd, zemm_query_impl_info_str, 0, &name));
    CHECK(strcmp(name, "reorder") == 0);
    CHECK(zemm_primitive_desc_next_impl(pd) == zemm_last_impl_reached);
    OK(zemm_primitive_desc_query(copy, zemm_query_impl_info_str, 0, &name));
    CHECK(strcmp(name, "reorder_pack") == 0);

    signed char in[64 * 64], out[64 * 64];
    zemm_exec_arg_t args[] = {{ZEMM_ARG_FROM, NULL}, {ZEMM_ARG_TO, NULL}};
    for (int i = 0; i < 64 * 64; i++)
        in[i] = (signed char)(i * 7);
    OK(zemm_memory_create(&args[0].memory, src, other, in));
    OK(zemm_memory_create(&args[1].memory, dst, engine, out));
    OK(zemm_primitive_create(&primitive, copy));
    OK(zemm_primitive_desc_destroy(copy));
    INVALID("ZEMM_ARG_DST is missing", zemm_primitive_execute(primitive, stream, 1, args));
    OK(zemm_primitive_execute(primitive, stream, 2, args));
    OK(zemm_stream_wait(stream));
    for (int k = 0; k < 64; k++)
        for (int n = 0; n < 64; n++)
            CHECK(out[(k / 4 * 64 + n) * 4 + k % 4] == in[k * 64 + n]);
    OK(zemm_memory_destroy(args[0].memory));
    OK(zemm_memory_create(&args[0].memory, src, engine, in));
    INVALID("another engine", zemm_primitive_execute(primitive, stream, 2, args));
    DESTROY(args[0].memory, args[1].memory, primitive, pd, src, dst, other);
}

int main(void) {
    OK(zemm_engine_create(&engine, zemm_cpu, 0));
    OK(zemm_stream_create(&stream, engine, zemm_stream_in_order));
    compensations();
    queries();
    DESTROY(stream, engine);
    return 0;
}
