/* SPDX-License-Identifier: Apache-2.0 */
/* Matmul values from C: each result equals that of a naive triple loop, exactly. */
#include "matmul_call.h"

static zemm_engine_t engine;
static zemm_stream_t stream;

/* ---- int8 with grouped scales and zero points, with and without reductions ---- */

enum { M = 5, K = 64, N = 35, G = 16, GROUPS = K / G, NO_GROUPS = -1 };

static int8_t src[M][K];
static uint8_t wei[K][N];
static float src_scale[M][GROUPS], wei_scale[GROUPS][N], bias[N];
static uint8_t wei_zp[GROUPS][N];
static int32_t src_zp;

static void fill(void) {
    unsigned state = 7;
    for (int m = 0; m < M; m++)
        for (int k = 0; k < K; k++)
            src[m][k] = (int8_t)next_int(&state, -128, 127);
    for (int k = 0; k < K; k++)
        for (int n = 0; n < N; n++)
            wei[k][n] = (uint8_t)next_int(&state, 0, 255);
    for (int g = 0; g < GROUPS; g++) {
        for (int m = 0; m < M; m++)
            src_scale[m][g] = next_int(&state, 0, 1) ? 0.5f : 0.25f;
        for (int n = 0; n < N; n++) {
            wei_scale[g][n] = next_int(&state, 0, 1) ? 2.f : 0.125f;
            wei_zp[g][n] = (uint8_t)next_int(&state, 0, 255);
        }
    }
    for (int n = 0; n < N; n++)
        bias[n] = (float)next_int(&state, -9, 9) / 2.f;
    src_zp = 3;
}

static void expect(float dst[M][N], int with_scales, int with_src_zp) {
    for (int m = 0; m < M; m++)
        for (int n = 0; n < N; n++) {
            double sum = bias[n];
            for (int k = 0; k < K; k++) {
                const int g = k / G;
                const int product =
                    (src[m][k] - (with_src_zp ? src_zp : 0)) * ((int)wei[k][n] - (int)wei_zp[g][n]);
                sum += with_scales ? product * (double)src_scale[m][g] * wei_scale[g][n] : product;
            }
            dst[m][n] = (float)sum;
        }
}

/* With reduction_group 0 the library computes the sums of src itself. With NO_GROUPS there is a sum
 * for each element. */
static void run_int8(float *dst, int reduction_group, int with_scales, int with_src_zp, int user_scratchpad) {
    int32_t reductions[M * K];
    struct call c;
    zemm_primitive_attr_t attr = new_attr();
    void *scratchpad = NULL;
    zemm_memory_desc_t src_md = dense(2, DIMS(M, K), zemm_s8), wei_md = dense(2, DIMS(K, N), zemm_u8),
                       bias_md = dense(2, DIMS(1, N), zemm_f32), dst_md = dense(2, DIMS(M, N), zemm_f32);
    if (with_scales) {
        OK(zemm_primitive_attr_set_scales(attr, ZEMM_ARG_SRC, 3, 2, DIMS(1, G), zemm_f32));
        OK(zemm_primitive_attr_set_scales(attr, ZEMM_ARG_WEIGHTS, 3, 2, DIMS(G, 1), zemm_f32));
    }
    OK(zemm_primitive_attr_set_zero_points(attr, ZEMM_ARG_WEIGHTS, 3, 2, DIMS(G, 1), zemm_u8));
    if (with_src_zp)
        OK(zemm_primitive_attr_set_zero_points(attr, ZEMM_ARG_SRC, 0, 0, NULL, zemm_s32));
    if (reduction_group == NO_GROUPS)
        OK(zemm_primitive_attr_set_precomputed_reductions(attr, ZEMM_ARG_SRC, 3, 0, NULL, zemm_s32));
    else if (reduction_group)
        OK(zemm_primitive_attr_set_precomputed_reductions(attr, ZEMM_ARG_SRC, 3, 2, DIMS(1, reduction_group),
                                                          zemm_s32));
    if (user_scratchpad)
        OK(zemm_primitive_attr_set_scratchpad_mode(attr, zemm_scratchpad_mode_user));
    call_make(&c, engine, src_md, wei_md, bias_md, dst_md, attr);
    call_arg(&c, ZEMM_ARG_SRC, src);
    call_arg(&c, ZEMM_ARG_WEIGHTS, wei);
    call_arg(&c, ZEMM_ARG_BIAS, bias);
    call_arg(&c, ZEMM_ARG_DST, dst);
    if (with_scales) {
        call_arg(&c, SCALES(ZEMM_ARG_SRC), src_scale);
        call_arg(&c, SCALES(ZEMM_ARG_WEIGHTS), wei_scale);
    }
    call_arg(&c, ZERO_POINTS(ZEMM_ARG_WEIGHTS), wei_zp);
    if (with_src_zp)
        call_value(&c, ZERO_POINTS(ZEMM_ARG_SRC), zemm_s32, &src_zp);
    if (reduction_group) {
        const int length = reduction_group == NO_GROUPS ? 1 : reduction_group, count = K / length;
        memset(reductions, 0, sizeof reductions);
        for (int m = 0; m < M; m++)
            for (int k = 0; k < K; k++)
                reductions[m * count + k / length] += src[m][k];
        call_arg(&c, REDUCTIONS, reductions);
    }
    if (user_scratchpad) {
        const_zemm_memory_desc_t md = zemm_primitive_desc_query_md(c.pd, zemm_query_scratchpad_md, 0);
        const size_t size = zemm_memory_desc_get_size(md);
        if (size) {
            scratchpad = malloc(size);
            memset(scratchpad, 0xaa, size);
            call_arg(&c, ZEMM_ARG_SCRATCHPAD, scratchpad);
        }
        CHECK(reduction_group ? size == 0 : size > 0);
    }
    call_run(&c, stream);
    call_free(&c);
    free(scratchpad);
    DESTROY(attr, src_md, wei_md, bias_md, dst_md);
}

static void test_int8(void) {
    static const int groups[] = {0, G, 8, 4, 1, NO_GROUPS};
    float expected[M][N], got[M][N];
    for (int with_scales = 0; with_scales < 2; with_scales++)
        for (int with_src_zp = 0; with_src_zp < 2; with_src_zp++) {
            expect(expected, with_scales, with_src_zp);
            for (int g = 0; g < COUNT(groups); g++)
                for (int user = 0; user < 2; user++) {
                    memset(got, 0xff, sizeof got);
                    run_int8(&got[0][0], groups[g], with_scales, with_src_zp, user);
                    if (memcmp(got, expected, sizeof got))
                        fprintf(stderr, "reduction group %d, scales %d, src zero point %d, user %d\n",
                                groups[g], with_scales, with_src_zp, user);
                    CHECK(!memcmp(got, expected, sizeof got));
                }
        }
}

/* ---- post-ops ---- */

static void run_f32(int ndims, const zemm_dim_t *src_dims, const zemm_dim_t *wei_dims,
                    const zemm_dim_t *dst_dims, const zemm_dim_t *bias_dims, zemm_primitive_attr_t attr,
                    float *s, float *w, float *b, float *d, int post_op_args, const int *ids, void **data) {
    struct call c;
    zemm_memory_desc_t src_md = dense(ndims, src_dims, zemm_f32), wei_md = dense(ndims, wei_dims, zemm_f32),
                       dst_md = dense(ndims, dst_dims, zemm_f32),
                       bias_md = b ? dense(ndims, bias_dims, zemm_f32) : NULL;
    call_make(&c, engine, src_md, wei_md, bias_md, dst_md, attr);
    call_arg(&c, ZEMM_ARG_SRC, s);
    call_arg(&c, ZEMM_ARG_WEIGHTS, w);
    call_arg(&c, ZEMM_ARG_DST, d);
    if (b)
        call_arg(&c, ZEMM_ARG_BIAS, b);
    for (int i = 0; i < post_op_args; i++)
        call_arg(&c, ids[i], data[i]);
    call_run(&c, stream);
    call_free(&c);
    DESTROY(src_md, wei_md, dst_md, bias_md);
}

/* Post-ops in this order: sum, relu, binary add (a row), binary select, prelu (a column),
 * linear. */
static void test_post_ops(void) {
    enum { R = 3, C = 4 };
    float s[R][2], w[2][C], d[R][C], old[R][C], row[C], alternative[R][C], slope[R], b[R];
    int8_t condition[R][C];
    unsigned state = 5;
    zemm_post_ops_t ops = NULL;
    zemm_primitive_attr_t attr = new_attr();
    zemm_memory_desc_t row_md = dense(2, DIMS(1, C), zemm_f32), all_md = dense(2, DIMS(R, C), zemm_f32),
                       condition_md = dense(2, DIMS(R, C), zemm_s8);
    for (int m = 0; m < R; m++) {
        slope[m] = (float)next_int(&state, -2, 2);
        b[m] = (float)next_int(&state, -20, 20);
        for (int k = 0; k < 2; k++)
            s[m][k] = (float)next_int(&state, -4, 4);
        for (int n = 0; n < C; n++) {
            old[m][n] = d[m][n] = (float)next_int(&state, -9, 9);
            alternative[m][n] = (float)next_int(&state, -50, 50);
            condition[m][n] = (int8_t)next_int(&state, -1, 1);
        }
    }
    for (int n = 0; n < C; n++) {
        row[n] = (float)next_int(&state, -30, 10);
        for (int k = 0; k < 2; k++)
            w[k][n] = (float)next_int(&state, -4, 4);
    }
    OK(zemm_post_ops_create(&ops));
    OK(zemm_post_ops_append_sum(ops, 2.f, 0, zemm_data_type_undef));
    OK(zemm_post_ops_append_eltwise(ops, zemm_eltwise_relu, 0.5f, 0.f));
    OK(zemm_post_ops_append_binary(ops, zemm_binary_add, row_md));
    OK(zemm_post_ops_append_binary_v2(ops, zemm_binary_select, all_md, condition_md));
    OK(zemm_post_ops_append_prelu(ops, 1));
    OK(zemm_post_ops_append_eltwise(ops, zemm_eltwise_linear, 4.f, 1.f));
    OK(zemm_primitive_attr_set_post_ops(attr, ops));
    OK(zemm_post_ops_destroy(ops)); /* the attribute has a copy */
    const int ids[] = {ZEMM_ARG_ATTR_MULTIPLE_POST_OP(2) | ZEMM_ARG_SRC_1,
                       ZEMM_ARG_ATTR_MULTIPLE_POST_OP(3) | ZEMM_ARG_SRC_1,
                       ZEMM_ARG_ATTR_MULTIPLE_POST_OP(3) | ZEMM_ARG_SRC_2,
                       ZEMM_ARG_ATTR_MULTIPLE_POST_OP(4) | ZEMM_ARG_WEIGHTS};
    void *data[] = {row, alternative, condition, slope};
    run_f32(2, DIMS(R, 2), DIMS(2, C), DIMS(R, C), DIMS(R, 1), attr, &s[0][0], &w[0][0], b, &d[0][0], 4, ids,
            data);
    for (int m = 0; m < R; m++)
        for (int n = 0; n < C; n++) {
            float x = s[m][0] * w[0][n] + s[m][1] * w[1][n] + b[m] + 2.f * old[m][n];
            x = (x > 0 ? x : 0.5f * x) + row[n];
            x = condition[m][n] ? x : alternative[m][n];
            x = (x >= 0 ? x : x * slope[m]) * 4.f + 1.f;
            CHECK(d[m][n] == x);
        }
    DESTROY(attr, row_md, all_md, condition_md);
}

int main(void) {
    OK(zemm_engine_create(&engine, zemm_cpu, 0));
    OK(zemm_stream_create(&stream, engine, zemm_stream_default_flags));
    fill();
    test_int8();
    test_post_ops();
    DESTROY(stream, engine);
    return 0;
}
