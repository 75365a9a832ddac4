/* SPDX-License-Identifier: Apache-2.0 */
/* Matmul primitive descriptors and primitives from C: queries, refused attributes, the list of
 * implementations. */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>

#include "matmul_call.h"

static zemm_engine_t engine;

static zemm_memory_desc_t s8_2x32, u8_32x16, f32_2x16, f32_1x16, f32_2x32, f32_32x16;

static zemm_status_t create(zemm_primitive_desc_t *pd, const_zemm_primitive_attr_t attr) {
    return zemm_matmul_primitive_desc_create(pd, engine, s8_2x32, u8_32x16, NULL, f32_2x16, attr);
}

static int query_equals(const_zemm_primitive_desc_t pd, zemm_query_t what, int index,
                        const_zemm_memory_desc_t expected) {
    const_zemm_memory_desc_t by_query = NULL, md = zemm_primitive_desc_query_md(pd, what, index);
    OK(zemm_primitive_desc_query(pd, what, index, &by_query));
    return md && zemm_memory_desc_equal(md, expected) && zemm_memory_desc_equal(by_query, expected);
}

static void test_queries(void) {
    zemm_primitive_desc_t pd = NULL, clone = NULL;
    zemm_primitive_attr_t attr = new_attr();
    const_zemm_primitive_attr_t got = NULL;
    const_zemm_post_ops_t got_ops = NULL;
    zemm_post_ops_t ops = NULL, none = NULL;
    zemm_engine_t of = NULL;
    zemm_primitive_kind_t kind = zemm_undefined_primitive;
    const char *name = NULL;
    int64_t bytes = -1;
    int count = -1;
    zemm_memory_desc_t condition = dense(2, DIMS(1, 1), zemm_u8), scales = dense(2, DIMS(2, 2), zemm_f16),
                       slopes = dense(2, DIMS(1, 16), zemm_f32), zero = NULL,
                       reductions = dense(2, DIMS(2, 4), zemm_s32);
    OK(zemm_memory_desc_create_with_strides(&zero, 0, NULL, zemm_data_type_undef, NULL));
    OK(zemm_primitive_attr_set_scales(attr, ZEMM_ARG_SRC, 3, 2, DIMS(1, 16), zemm_f16));
    OK(zemm_primitive_attr_set_zero_points(attr, ZEMM_ARG_WEIGHTS, 0, 0, NULL, zemm_u8));
    OK(zemm_primitive_attr_set_precomputed_reductions(attr, ZEMM_ARG_SRC, 3, 2, DIMS(1, 8), zemm_s32));
    OK(zemm_post_ops_create(&ops));
    OK(zemm_post_ops_append_sum(ops, 1.f, 0, zemm_data_type_undef));
    OK(zemm_post_ops_append_binary(ops, zemm_binary_mul, f32_1x16));
    OK(zemm_post_ops_append_binary_v2(ops, zemm_binary_select, f32_2x16, condition));
    OK(zemm_post_ops_append_prelu(ops, 2));
    OK(zemm_primitive_attr_set_post_ops(attr, ops));
    OK(zemm_matmul_primitive_desc_create(&pd, engine, s8_2x32, u8_32x16, f32_1x16, f32_2x16, attr));
    /* the descriptor has its own copy of the attribute */
    OK(zemm_post_ops_create(&none));
    OK(zemm_primitive_attr_set_post_ops(attr, none));
    OK(zemm_post_ops_destroy(none));
    OK(zemm_primitive_desc_get_attr(pd, &got));
    OK(zemm_primitive_attr_get_post_ops(got, &got_ops));
    CHECK(zemm_post_ops_len(got_ops) == 4);
    OK(zemm_primitive_attr_destroy(attr));

    OK(zemm_primitive_desc_clone(&clone, pd));
    OK(zemm_primitive_desc_destroy(pd));
    pd = clone;
    OK(zemm_primitive_desc_get_attr(pd, &got));
    OK(zemm_primitive_attr_get_post_ops(got, &got_ops));
    CHECK(zemm_post_ops_len(got_ops) == 4);

    CHECK(zemm_primitive_desc_query_s32(pd, zemm_query_num_of_inputs_s32, 0) == 2 + 1 + 1 + 2 + 1);
    CHECK(zemm_primitive_desc_query_s32(pd, zemm_query_num_of_outputs_s32, 0) == 1);
    OK(zemm_primitive_desc_query(pd, zemm_query_num_of_inputs_s32, 0, &count));
    CHECK(count == 7);
    OK(zemm_primitive_desc_query(pd, zemm_query_engine, 0, &of));
    CHECK(of == engine);
    OK(zemm_primitive_desc_query(pd, zemm_query_scratchpad_engine, 0, &of));
    CHECK(of == engine);
    OK(zemm_primitive_desc_query(pd, zemm_query_primitive_kind, 0, &kind));
    CHECK(kind == zemm_matmul);
    OK(zemm_primitive_desc_query(pd, zemm_query_impl_info_str, 0, (void *)&name));
    CHECK(name && *name);
    OK(zemm_primitive_desc_query(pd, zemm_query_cache_blob_id_size_s64, 0, &bytes));
    CHECK(bytes > 0);
    UNIMPLEMENTED("query 0", zemm_primitive_desc_query(pd, zemm_query_undef, 0, &count));
    UNIMPLEMENTED("query 11", zemm_primitive_desc_query(pd, zemm_query_prop_kind, 0, &count));
    CHECK(zemm_primitive_desc_query_s32(pd, zemm_query_engine, 0) == 0);
    CHECK(zemm_primitive_desc_query_s32(NULL, zemm_query_num_of_inputs_s32, 0) == 0);
    CHECK(!zemm_primitive_desc_query_md(NULL, zemm_query_src_md, 0));
    CHECK(!zemm_primitive_desc_query_md(pd, zemm_query_engine, 0));

    CHECK(query_equals(pd, zemm_query_src_md, 0, s8_2x32));
    CHECK(query_equals(pd, zemm_query_weights_md, 0, u8_32x16));
    CHECK(query_equals(pd, zemm_query_weights_md, 1, f32_1x16));
    CHECK(query_equals(pd, zemm_query_dst_md, 0, f32_2x16));
    CHECK(query_equals(pd, zemm_query_src_md, 1, zero));
    CHECK(query_equals(pd, zemm_query_weights_md, 2, zero));
    CHECK(query_equals(pd, zemm_query_dst_md, -1, zero));
    CHECK(query_equals(pd, zemm_query_workspace_md, 0, zero));
    CHECK(query_equals(pd, zemm_query_diff_src_md, 0, zero));
    CHECK(query_equals(pd, zemm_query_scratchpad_md, 0, zero));
    const struct {
        int arg;
        const_zemm_memory_desc_t md;
    } expected[] = {{ZEMM_ARG_SRC, s8_2x32},
                    {ZEMM_ARG_WEIGHTS, u8_32x16},
                    {ZEMM_ARG_BIAS, f32_1x16},
                    {ZEMM_ARG_DST, f32_2x16},
                    {SCALES(ZEMM_ARG_SRC), scales},
                    {REDUCTIONS, reductions},
                    {ZEMM_ARG_ATTR_MULTIPLE_POST_OP(1) | ZEMM_ARG_SRC_1, f32_1x16},
                    {ZEMM_ARG_ATTR_MULTIPLE_POST_OP(2) | ZEMM_ARG_SRC_1, f32_2x16},
                    {ZEMM_ARG_ATTR_MULTIPLE_POST_OP(2) | ZEMM_ARG_SRC_2, condition},
                    {ZEMM_ARG_ATTR_MULTIPLE_POST_OP(3) | ZEMM_ARG_WEIGHTS, slopes},
                    {ZEMM_ARG_ATTR_MULTIPLE_POST_OP(0) | ZEMM_ARG_SRC_1, zero},
                    {ZEMM_ARG_ATTR_MULTIPLE_POST_OP(1) | ZEMM_ARG_SRC_2, zero},
                    {ZEMM_ARG_SCRATCHPAD, zero},
                    {SCALES(ZEMM_ARG_WEIGHTS), zero},
                    {ZERO_POINTS(ZEMM_ARG_WEIGHTS), zero}, /* its mask is 0 */
                    {0, zero}};
    for (int i = 0; i < COUNT(expected); i++)
        CHECK(query_equals(pd, zemm_query_exec_arg_md, expected[i].arg, expected[i].md));
    DESTROY(pd, ops, condition, scales, slopes, reductions, zero);
}

/* Format any becomes dense row-major. For weights it becomes the layout that the chosen kernel
 * reads best. */
static void test_any(void) {
    zemm_primitive_desc_t pd = NULL;
    zemm_memory_desc_t packed = NULL;
    const char *name = NULL;
    zemm_memory_desc_t s = tagged(2, DIMS(2, 32), zemm_f32, zemm_format_tag_any),
                       w = tagged(2, DIMS(32, 16), zemm_f32, zemm_format_tag_any),
                       b = tagged(2, DIMS(1, 16), zemm_f32, zemm_format_tag_any),
                       d = tagged(2, DIMS(2, 16), zemm_f32, zemm_format_tag_any);
    OK(zemm_matmul_primitive_desc_create(&pd, engine, s, w, b, d, NULL));
    CHECK(query_equals(pd, zemm_query_src_md, 0, f32_2x32));
    OK(zemm_primitive_desc_query(pd, zemm_query_impl_info_str, 0, &name));
    OK(zemm_memory_desc_create_with_string_tag(&packed, 2, DIMS(32, 16), zemm_f32, "BA16a64b"));
    CHECK(query_equals(pd, zemm_query_weights_md, 0, strstr(name, "generic") ? f32_32x16 : packed));
    OK(zemm_memory_desc_destroy(packed));
    CHECK(query_equals(pd, zemm_query_weights_md, 1, f32_1x16));
    CHECK(query_equals(pd, zemm_query_dst_md, 0, f32_2x16));
    DESTROY(pd, s, w, b, d);
}

/* Tensors whose number of dimensions, or a post-op whose dimensions, do not fit. */
static void test_shapes(void) {
    zemm_primitive_desc_t pd = NULL;
    zemm_primitive_attr_t attr = new_attr();
    zemm_post_ops_t ops = NULL;
    zemm_memory_desc_t three = dense(3, DIMS(2, 16, 1), zemm_f32), one = dense(1, DIMS(32), zemm_s8);
    INVALID("dst", zemm_matmul_primitive_desc_create(&pd, engine, s8_2x32, u8_32x16, NULL, three, NULL));
    INVALID("bias", zemm_matmul_primitive_desc_create(&pd, engine, s8_2x32, u8_32x16, three, f32_2x16, NULL));
    INVALID("src", zemm_matmul_primitive_desc_create(&pd, engine, one, one, NULL, one, NULL));
    const zemm_memory_desc_t operands[] = {f32_2x32, three};
    for (int i = 0; i < COUNT(operands); i++) {
        OK(zemm_post_ops_create(&ops));
        OK(zemm_post_ops_append_binary(ops, zemm_binary_add, operands[i]));
        OK(zemm_primitive_attr_set_post_ops(attr, ops));
        INVALID("post-op 0", create(&pd, attr));
        OK(zemm_post_ops_destroy(ops));
    }
    CHECK(!pd);
    DESTROY(attr, three, one);
}

static const char *impl_of(zemm_primitive_desc_t pd) {
    const char *name = NULL;
    OK(zemm_primitive_desc_query(pd, zemm_query_impl_info_str, 0, (void *)&name));
    return name;
}

/* Descriptors of one problem share what was decided for the first one, but no descriptor changes another,
 * and ZEMM_KERNEL may change between them. */
static void test_equal_problems(void) {
    zemm_primitive_desc_t first, second, forced, third;
    OK(create(&first, NULL));
    OK(create(&second, NULL));
    const char *const best = impl_of(first);
    CHECK(!strcmp(impl_of(second), best));
    OK(zemm_primitive_desc_next_impl(first));
    CHECK(strcmp(impl_of(first), best) != 0);
    CHECK(!strcmp(impl_of(second), best));
    setenv("ZEMM_KERNEL", impl_of(first), 1);
    OK(create(&forced, NULL));
    CHECK(!strcmp(impl_of(forced), impl_of(first)));
    setenv("ZEMM_KERNEL", "none", 1);
    CHECK(create(&third, NULL) == zemm_unimplemented);
    unsetenv("ZEMM_KERNEL");
    OK(create(&third, NULL));
    CHECK(!strcmp(impl_of(third), best));
    DESTROY(first, second, forced, third);
}

int main(void) {
    OK(zemm_engine_create(&engine, zemm_cpu, 0));
    s8_2x32 = dense(2, DIMS(2, 32), zemm_s8);
    u8_32x16 = dense(2, DIMS(32, 16), zemm_u8);
    f32_2x16 = dense(2, DIMS(2, 16), zemm_f32);
    f32_1x16 = dense(2, DIMS(1, 16), zemm_f32);
    f32_2x32 = dense(2, DIMS(2, 32), zemm_f32);
    f32_32x16 = dense(2, DIMS(32, 16), zemm_f32);
    test_queries();
    test_any();
    test_equal_problems();
    test_shapes();
    DESTROY(s8_2x32, u8_32x16, f32_2x16, f32_1x16, f32_2x32, f32_32x16);
    OK(zemm_engine_destroy(engine));
    return 0;
}
