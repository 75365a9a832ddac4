/* SPDX-License-Identifier: Apache-2.0 */
/* Execution of matmul primitives from C: submemories, types, zero dimensions, scratchpads.
 * tests/matmul/test_execute_arguments.py has the refusals of each argument. */
#include "matmul_call.h"

static zemm_engine_t engine;
static zemm_stream_t stream;

enum { M = 2, K = 32, N = 3 };
static int8_t src[M][K];
static uint8_t wei[K][N];
static float dst[M][N], bias[N] = {1, 2, 3};

static void fill(void) {
    unsigned state = 11;
    for (int m = 0; m < M; m++)
        for (int k = 0; k < K; k++)
            src[m][k] = (int8_t)next_int(&state, -128, 127);
    for (int k = 0; k < K; k++)
        for (int n = 0; n < N; n++)
            wei[k][n] = (uint8_t)next_int(&state, 0, 255);
}

static void clear(void) {
    memset(dst, 0xff, sizeof dst);
}

static int untouched(void) {
    const unsigned char *bytes = (const unsigned char *)dst;
    for (size_t i = 0; i < sizeof dst; i++)
        if (bytes[i] != 0xff)
            return 0;
    return 1;
}

/* A primitive that was made for submemories takes their parents. */
static void test_submemories(void) {
    enum { WIDE = 2 * K, ROWS = 3 };
    struct call c;
    static int8_t parent_src[M][WIDE];
    static float parent_dst[ROWS][N];
    zemm_memory_t memory = NULL;
    zemm_memory_desc_t big_src = dense(2, DIMS(M, WIDE), zemm_s8),
                       big_dst = dense(2, DIMS(ROWS, N), zemm_f32), s = NULL, d = NULL,
                       w = dense(2, DIMS(K, N), zemm_u8), tight = dense(2, DIMS(M - 1, WIDE), zemm_s8),
                       dense_src = dense(2, DIMS(M, K), zemm_s8), small_dst = dense(2, DIMS(M, N), zemm_f32);
    OK(zemm_memory_desc_create_submemory(&s, big_src, DIMS(M, K), DIMS(0, K)));
    OK(zemm_memory_desc_create_submemory(&d, big_dst, DIMS(M, N), DIMS(1, 0)));
    for (int m = 0; m < M; m++)
        memcpy(&parent_src[m][K], src[m], K);
    memset(parent_dst, 0xff, sizeof parent_dst);
    call_make(&c, engine, s, w, NULL, d, NULL);
    const zemm_memory_desc_t mds[] = {big_src, w, big_dst, tight, dense_src, small_dst};
    void *data[] = {parent_src, wei, parent_dst, parent_src, src, dst};
    zemm_memory_t memories[COUNT(mds)];
    for (int i = 0; i < COUNT(mds); i++)
        OK(zemm_memory_create(&memories[i], mds[i], engine, data[i]));
    clear();
    const int args[] = {ZEMM_ARG_SRC, ZEMM_ARG_WEIGHTS, ZEMM_ARG_DST};
    for (int i = 0; i < 3; i++)
        c.args[i] = (zemm_exec_arg_t){args[i], memories[i]};
    c.args[0].memory = memories[3]; /* the submemory does not fit in this one */
    INVALID("ZEMM_ARG_SRC", zemm_primitive_execute(c.primitive, stream, 3, c.args));
    c.args[0].memory = memories[4]; /* other strides */
    INVALID("ZEMM_ARG_SRC", zemm_primitive_execute(c.primitive, stream, 3, c.args));
    c.args[0].memory = memories[0];
    c.args[2].memory = memories[5];
    INVALID("ZEMM_ARG_DST", zemm_primitive_execute(c.primitive, stream, 3, c.args));
    CHECK(untouched());
    c.args[2].memory = memories[2];
    OK(zemm_primitive_execute(c.primitive, stream, 3, c.args));
    OK(zemm_stream_wait(stream));
    for (int n = 0; n < N; n++) {
        const unsigned char *before = (const unsigned char *)&parent_dst[0][n];
        CHECK(before[0] == 0xff && before[3] == 0xff);
        for (int m = 0; m < M; m++) {
            float sum = 0;
            for (int k = 0; k < K; k++)
                sum += (float)(src[m][k] * wei[k][n]);
            CHECK(parent_dst[m + 1][n] == sum);
        }
    }
    OK(zemm_memory_create(&memory, s, engine, parent_src)); /* the submemory itself works, too */
    c.args[0].memory = memory;
    OK(zemm_primitive_execute(c.primitive, stream, 3, c.args));
    OK(zemm_stream_wait(stream));
    OK(zemm_memory_destroy(memory));
    for (int i = 0; i < COUNT(mds); i++) {
        DESTROY(memories[i], mds[i]);
    }
    DESTROY(s, d, c.primitive, c.pd);
}

/* A memory may have another data type of the same size, such as that in which a sum reads dst. */
static void test_types(void) {
    struct call c;
    zemm_primitive_attr_t attr = new_attr();
    zemm_post_ops_t sum = NULL;
    static uint8_t out[M][N];
    static int8_t ones[M][K];
    static uint8_t eye[K][N];
    zemm_memory_desc_t s = dense(2, DIMS(M, K), zemm_s8), w = dense(2, DIMS(K, N), zemm_u8),
                       d = dense(2, DIMS(M, N), zemm_u8), as_s8 = dense(2, DIMS(M, N), zemm_s8),
                       as_f32 = dense(2, DIMS(M, N), zemm_f32);
    OK(zemm_post_ops_create(&sum));
    OK(zemm_post_ops_append_sum(sum, 1.f, 0, zemm_s8));
    OK(zemm_primitive_attr_set_post_ops(attr, sum));
    OK(zemm_post_ops_destroy(sum));
    memset(ones, 1, sizeof ones);
    memset(eye, 4, sizeof eye);
    const zemm_memory_desc_t types[] = {d, as_s8, as_f32};
    for (int i = 0; i < 3; i++) {
        zemm_memory_t memory = NULL;
        call_make(&c, engine, s, w, NULL, d, attr);
        call_arg(&c, ZEMM_ARG_SRC, ones);
        call_arg(&c, ZEMM_ARG_WEIGHTS, eye);
        memset(out, 0xff, sizeof out); /* -1 as s8 */
        OK(zemm_memory_create(&memory, types[i], engine, i < 2 ? (void *)out : (void *)dst));
        c.args[2] = (zemm_exec_arg_t){ZEMM_ARG_DST, memory};
        c.nargs = 3;
        if (i < 2) {
            call_run(&c, stream);
            CHECK(out[0][0] == 4 * K - 1 && out[M - 1][N - 1] == 4 * K - 1);
        } else {
            INVALID("ZEMM_ARG_DST has data type f32", zemm_primitive_execute(c.primitive, stream, 3, c.args));
        }
        call_free(&c);
    }
    OK(zemm_primitive_attr_destroy(attr));
    zemm_memory_desc_t mds[] = {s, w, d, as_s8, as_f32};
    for (int i = 0; i < COUNT(mds); i++)
        OK(zemm_memory_desc_destroy(mds[i]));
}

static zemm_primitive_desc_t with_zero_points(zemm_scratchpad_mode_t mode) {
    zemm_primitive_desc_t pd = NULL;
    zemm_primitive_attr_t attr = new_attr();
    zemm_memory_desc_t s = dense(2, DIMS(M, K), zemm_s8), w = dense(2, DIMS(K, N), zemm_u8),
                       d = dense(2, DIMS(M, N), zemm_f32);
    OK(zemm_primitive_attr_set_zero_points(attr, ZEMM_ARG_WEIGHTS, 0, 0, NULL, zemm_u8));
    OK(zemm_primitive_attr_set_scratchpad_mode(attr, mode));
    OK(zemm_matmul_primitive_desc_create(&pd, engine, s, w, NULL, d, attr));
    DESTROY(attr, s, w, d);
    return pd;
}

/* What a matmul says of the scratchpad that it needs. tests/matmul/test_execute_arguments.py passes one. */
static void test_scratchpad(void) {
    zemm_primitive_desc_t library = with_zero_points(zemm_scratchpad_mode_library),
                          user = with_zero_points(zemm_scratchpad_mode_user);
    int64_t bytes = 0, more = -1;
    CHECK(zemm_memory_desc_get_size(zemm_primitive_desc_query_md(library, zemm_query_scratchpad_md, 0)) == 0);
    OK(zemm_primitive_desc_query(library, zemm_query_memory_consumption_s64, 0, &bytes));
    CHECK(bytes > 0);
    const_zemm_memory_desc_t md = zemm_primitive_desc_query_md(user, zemm_query_scratchpad_md, 0);
    int ndims = 0;
    zemm_data_type_t type = zemm_data_type_undef;
    CHECK(zemm_memory_desc_get_size(md) == (size_t)bytes + 63); /* room to begin at any address */
    OK(zemm_memory_desc_query(md, zemm_query_ndims_s32, &ndims));
    OK(zemm_memory_desc_query(md, zemm_query_data_type, &type));
    CHECK(ndims == 1 && type == zemm_u8);
    CHECK(zemm_memory_desc_equal(
        md, zemm_primitive_desc_query_md(user, zemm_query_exec_arg_md, ZEMM_ARG_SCRATCHPAD)));
    OK(zemm_primitive_desc_query(user, zemm_query_memory_consumption_s64, 0, &more));
    CHECK(more == 0);
    DESTROY(library, user);
}

/* With a dimension of 0, even K, the execution succeeds and dst keeps its contents. */
static void test_zero_dims(void) {
    static const zemm_dim_t sizes[][3] = {{0, 4, 3}, {2, 0, 3}, {2, 4, 0}, {0, 0, 0}};
    for (int i = 0; i < COUNT(sizes); i++)
        for (int batch = 0; batch < 3; batch++) { /* 2: the batch is 0 */
            const zemm_dim_t m = sizes[i][0], k = sizes[i][1], n = sizes[i][2], b = batch == 2 ? 0 : 1;
            const int nd = batch ? 3 : 2;
            struct call c;
            zemm_post_ops_t ops = NULL;
            zemm_primitive_attr_t attr = new_attr();
            zemm_memory_desc_t s = dense(nd, batch ? DIMS(b, m, k) : DIMS(m, k), zemm_f32),
                               w = dense(nd, batch ? DIMS(b, k, n) : DIMS(k, n), zemm_f32),
                               x = dense(nd, batch ? DIMS(1, 1, n) : DIMS(1, n), zemm_f32),
                               d = dense(nd, batch ? DIMS(b, m, n) : DIMS(m, n), zemm_f32);
            OK(zemm_post_ops_create(&ops));
            OK(zemm_post_ops_append_eltwise(ops, zemm_eltwise_linear, 1.f, 5.f));
            OK(zemm_primitive_attr_set_post_ops(attr, ops));
            call_make(&c, engine, s, w, x, d, attr);
            clear();
            call_arg(&c, ZEMM_ARG_SRC, src);
            call_arg(&c, ZEMM_ARG_WEIGHTS, wei);
            call_arg(&c, ZEMM_ARG_BIAS, bias);
            INVALID("missing", zemm_primitive_execute(c.primitive, stream, c.nargs, c.args));
            call_arg(&c, ZEMM_ARG_DST, dst);
            call_run(&c, stream);
            CHECK(untouched());
            call_free(&c);
            DESTROY(ops, attr, s, w, x, d);
        }
}

int main(void) {
    OK(zemm_engine_create(&engine, zemm_cpu, 0));
    OK(zemm_stream_create(&stream, engine, zemm_stream_default_flags));
    fill();
    test_submemories();
    test_types();
    test_scratchpad();
    test_zero_dims();
    DESTROY(stream, engine);
    return 0;
}
