/* SPDX-License-Identifier: Apache-2.0 */
/* Post-op lists: entries can be read back; an entry that breaks a rule is refused and not
 * appended. */
#include "destroy.h"

static zemm_post_ops_t list;

static zemm_memory_desc_t desc(zemm_dim_t m, zemm_dim_t n, zemm_data_type_t dt, zemm_format_tag_t tag) {
    const zemm_dims_t dims = {m, n};
    zemm_memory_desc_t md = NULL;
    OK(zemm_memory_desc_create_with_tag(&md, 2, dims, dt, tag));
    return md;
}

static void sum(void) {
    float scale = 0;
    int32_t zero_point = 0;
    zemm_data_type_t dt = zemm_f64;
    OK(zemm_post_ops_append_sum(list, 0.25f, -3, zemm_u8));
    OK(zemm_post_ops_append_sum(list, 1.f, 0, zemm_data_type_undef));
    CHECK(zemm_post_ops_len(list) == 2 && zemm_post_ops_get_kind(list, 0) == zemm_sum);
    OK(zemm_post_ops_get_params_sum(list, 0, &scale, &zero_point, &dt));
    CHECK(scale == 0.25f && zero_point == -3 && dt == zemm_u8);
    OK(zemm_post_ops_get_params_sum(list, 1, NULL, NULL, &dt));
    CHECK(dt == zemm_data_type_undef);
    INVALID("99", zemm_post_ops_append_sum(list, 1.f, 0, (zemm_data_type_t)99));
    INVALID("scale", zemm_post_ops_append_sum(list, ZEMM_RUNTIME_F32_VAL, 0, zemm_f32));
    INVALID("sum", zemm_post_ops_get_params_prelu(list, 0, NULL));
    INVALID("index 2", zemm_post_ops_get_params_sum(list, 2, &scale, NULL, NULL));
    INVALID("index -1", zemm_post_ops_get_params_sum(list, -1, &scale, NULL, NULL));
    CHECK(zemm_post_ops_len(list) == 2 && scale == 0.25f);
}

static void eltwise(void) {
    zemm_alg_kind_t alg = zemm_alg_kind_undef;
    float alpha = 0, beta = 0;
    const int start = zemm_post_ops_len(list);
    OK(zemm_post_ops_append_eltwise(list, zemm_eltwise_linear, 2.f, -1.5f));
    CHECK(zemm_post_ops_get_kind(list, start) == zemm_eltwise);
    OK(zemm_post_ops_get_params_eltwise(list, start, &alg, &alpha, &beta));
    CHECK(alg == zemm_eltwise_linear && alpha == 2.f && beta == -1.5f);
    OK(zemm_post_ops_append_eltwise(list, zemm_eltwise_clip, 1.f, 1.f));
    OK(zemm_post_ops_append_eltwise(list, zemm_eltwise_relu, -1.f, 0.f));
    INVALID("beta", zemm_post_ops_append_eltwise(list, zemm_eltwise_clip, 1.f, 0.5f));
    INVALID("beta", zemm_post_ops_append_eltwise(list, zemm_eltwise_clip_v2, 1.f, 0.5f));
    INVALID("beta", zemm_post_ops_append_eltwise(list, zemm_eltwise_clip_v2_use_dst_for_bwd, 1.f, 0.5f));
    INVALID("alpha", zemm_post_ops_append_eltwise(list, zemm_eltwise_relu_use_dst_for_bwd, -1.f, 0.f));
    INVALID("alpha", zemm_post_ops_append_eltwise(list, zemm_eltwise_elu_use_dst_for_bwd, -1.f, 0.f));
    INVALID("alpha", zemm_post_ops_append_eltwise(list, zemm_eltwise_linear, ZEMM_RUNTIME_F32_VAL, 0.f));
    INVALID("beta", zemm_post_ops_append_eltwise(list, zemm_eltwise_linear, 1.f, ZEMM_RUNTIME_F32_VAL));
    INVALID("binary_add", zemm_post_ops_append_eltwise(list, zemm_binary_add, 0.f, 0.f));
    INVALID("0x35", zemm_post_ops_append_eltwise(list, (zemm_alg_kind_t)0x35, 0.f, 0.f));
    INVALID("0x1f", zemm_post_ops_append_eltwise(list, (zemm_alg_kind_t)0x1f, 0.f, 0.f));
    INVALID("0x107", zemm_post_ops_append_eltwise(list, (zemm_alg_kind_t)0x107, 0.f, 0.f));
    INVALID("eltwise", zemm_post_ops_get_params_sum(list, start, NULL, NULL, NULL));
    CHECK(zemm_post_ops_len(list) == start + 3);
}

static void binary(void) {
    zemm_memory_desc_t row = desc(1, 5, zemm_f32, zemm_ab), any = desc(3, 5, zemm_s8, zemm_format_tag_any);
    zemm_memory_desc_t runtime = desc(ZEMM_RUNTIME_DIM_VAL, 5, zemm_f32, zemm_ab), zero, scalar;
    const_zemm_memory_desc_t src1 = NULL, src2 = NULL;
    zemm_alg_kind_t alg = zemm_alg_kind_undef;
    const int start = zemm_post_ops_len(list);
    OK(zemm_memory_desc_create_with_strides(&zero, 0, NULL, zemm_data_type_undef, NULL));
    OK(zemm_memory_desc_create_host_scalar(&scalar, zemm_f32));
    for (int a = zemm_binary_add; a < zemm_binary_select; a++)
        OK(zemm_post_ops_append_binary(list, (zemm_alg_kind_t)a, row));
    OK(zemm_post_ops_append_binary_v2(list, zemm_binary_sub, row, zero));
    OK(zemm_post_ops_append_binary_v2(list, zemm_binary_select, row, any));
    CHECK(zemm_post_ops_len(list) == start + 14);
    OK(zemm_post_ops_get_params_binary(list, start + 1, &alg, &src1));
    CHECK(alg == zemm_binary_mul && src1 != row && zemm_memory_desc_equal(src1, row) == 1);
    OK(zemm_post_ops_get_params_binary_v2(list, start + 12, &alg, &src1, &src2));
    CHECK(alg == zemm_binary_sub && zemm_memory_desc_equal(src2, zero) == 1);
    OK(zemm_post_ops_get_params_binary_v2(list, start + 13, NULL, &src1, &src2));
    CHECK(zemm_memory_desc_equal(src1, row) == 1 && zemm_memory_desc_equal(src2, any) == 1);
    CHECK(zemm_post_ops_get_kind(list, start + 13) == zemm_binary);

    INVALID("eltwise_relu", zemm_post_ops_append_binary(list, zemm_eltwise_relu, row));
    INVALID("0x1fffe", zemm_post_ops_append_binary(list, (zemm_alg_kind_t)0x1fffe, row));
    INVALID("runtime", zemm_post_ops_append_binary(list, zemm_binary_add, runtime));
    INVALID("dimensions", zemm_post_ops_append_binary(list, zemm_binary_add, zero));
    INVALID("host_scalar", zemm_post_ops_append_binary(list, zemm_binary_add, scalar));
    INVALID("needs src2", zemm_post_ops_append_binary(list, zemm_binary_select, row));
    INVALID("needs src2", zemm_post_ops_append_binary_v2(list, zemm_binary_select, row, zero));
    INVALID("no use for src2", zemm_post_ops_append_binary_v2(list, zemm_binary_add, row, any));
    INVALID("f32", zemm_post_ops_append_binary_v2(list, zemm_binary_select, row, row));
    INVALID("runtime", zemm_post_ops_append_binary_v2(list, zemm_binary_select, row, runtime));
    CHECK(zemm_post_ops_len(list) == start + 14);
    DESTROY(row, any, runtime, zero, scalar);
}

static void prelu(void) {
    int mask = -1;
    const int start = zemm_post_ops_len(list);
    OK(zemm_post_ops_append_prelu(list, 3));
    OK(zemm_post_ops_get_params_prelu(list, start, &mask));
    CHECK(mask == 3 && zemm_post_ops_get_kind(list, start) == zemm_prelu);
    INVALID("mask -1", zemm_post_ops_append_prelu(list, -1));
    CHECK(zemm_post_ops_len(list) == start + 1);
}

static void depthwise(void) {
    zemm_dim_t kernel = 0;
    const int count = zemm_post_ops_len(list);
    REFUSED(zemm_unimplemented, "zemm has none: leave it out of the list",
            zemm_post_ops_append_dw(list, zemm_s8, zemm_f32, zemm_f32, 3, 1, 1));
    INVALID("post_ops", zemm_post_ops_append_dw(NULL, zemm_s8, zemm_f32, zemm_f32, 3, 1, 1));
    INVALID("not a convolution",
            zemm_post_ops_get_params_dw(list, count - 1, NULL, NULL, NULL, &kernel, NULL, NULL));
    CHECK(zemm_post_ops_len(list) == count && kernel == 0);
}

static void limit(void) {
    zemm_post_ops_t copy;
    OK(zemm_post_ops_clone(&copy, list));
    while (zemm_post_ops_len(copy) < 32)
        OK(zemm_post_ops_append_prelu(copy, 0));
    REFUSED(zemm_out_of_memory, "32", zemm_post_ops_append_prelu(copy, 0));
    REFUSED(zemm_out_of_memory, "32", zemm_post_ops_append_sum(copy, 1.f, 0, zemm_f32));
    REFUSED(zemm_out_of_memory, "32", zemm_post_ops_append_eltwise(copy, zemm_eltwise_relu, 0.f, 0.f));
    CHECK(zemm_post_ops_len(copy) == 32 && zemm_post_ops_len(list) < 32);
    OK(zemm_post_ops_destroy(copy));
}

static void missing(void) {
    CHECK(zemm_post_ops_len(NULL) == 0);
    CHECK(zemm_post_ops_get_kind(NULL, 0) == zemm_undefined_primitive);
    CHECK(zemm_post_ops_get_kind(list, -1) == zemm_undefined_primitive);
    CHECK(zemm_post_ops_get_kind(list, 99) == zemm_undefined_primitive);
    OK(zemm_post_ops_destroy(NULL));
}

int main(void) {
    OK(zemm_post_ops_create(&list));
    CHECK(zemm_post_ops_len(list) == 0);
    sum();
    eltwise();
    binary();
    prelu();
    depthwise();
    limit();
    missing();
    OK(zemm_post_ops_destroy(list));
    return 0;
}
