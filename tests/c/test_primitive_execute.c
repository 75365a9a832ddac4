/* SPDX-License-Identifier: Apache-2.0 */
/* Execution of matmul primitives from C: refusals, zero dimensions, scratchpads, the primitive
 * cache. */
#include "matmul_call.h"

static zemm_engine_t engine;
static zemm_stream_t stream;

enum { M = 2, K = 32, N = 3 };
static int8_t src[M][K];
static uint8_t wei[K][N], zero_point = 128;
static float dst[M][N], bias[N] = {1, 2, 3};

/* A matmul with a bias and zero points of the weights. Without reductions it needs a scratchpad. */
static void make(struct call *c, zemm_engine_t on, int user_scratchpad) {
    zemm_primitive_attr_t attr = new_attr();
    zemm_memory_desc_t s = dense(2, DIMS(M, K), zemm_s8), w = dense(2, DIMS(K, N), zemm_u8),
                       b = dense(2, DIMS(1, N), zemm_f32), d = dense(2, DIMS(M, N), zemm_f32);
    OK(zemm_primitive_attr_set_zero_points(attr, ZEMM_ARG_WEIGHTS, 0, 0, NULL, zemm_u8));
    if (user_scratchpad)
        OK(zemm_primitive_attr_set_scratchpad_mode(attr, zemm_scratchpad_mode_user));
    call_make(c, on, s, w, b, d, attr);
    OK(zemm_primitive_attr_destroy(attr));
    OK(zemm_memory_desc_destroy(s));
    OK(zemm_memory_desc_destroy(w));
    OK(zemm_memory_desc_destroy(b));
    OK(zemm_memory_desc_destroy(d));
    call_arg(c, ZEMM_ARG_SRC, src);
    call_arg(c, ZEMM_ARG_WEIGHTS, wei);
    call_arg(c, ZEMM_ARG_BIAS, bias);
    call_value(c, ZERO_POINTS(ZEMM_ARG_WEIGHTS), zemm_u8, &zero_point);
    call_arg(c, ZEMM_ARG_DST, dst);
}

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

static int right(void) {
    for (int m = 0; m < M; m++)
        for (int n = 0; n < N; n++) {
            float sum = bias[n];
            for (int k = 0; k < K; k++)
                sum += (float)(src[m][k] * (wei[k][n] - zero_point));
            if (dst[m][n] != sum)
                return 0;
        }
    return 1;
}

static void test_refusals(void) {
    struct call c;
    zemm_exec_arg_t args[8];
    zemm_engine_t other = NULL;
    zemm_stream_t other_stream = NULL;
    zemm_memory_t memory = NULL, none = NULL;
    float value = 1;
    zemm_memory_desc_t scalar = NULL, wrong = dense(2, DIMS(M, K), zemm_f16),
                       wide = dense(2, DIMS(M, K + 1), zemm_s8), right_md = dense(2, DIMS(M, K), zemm_s8),
                       no_zps = dense(1, DIMS(0), zemm_u8);
    make(&c, engine, 0);
    clear();
#define EXECUTE(count) zemm_primitive_execute(c.primitive, stream, count, args)
#define RESET() memcpy(args, c.args, sizeof args)
    RESET();
    INVALID("primitive", zemm_primitive_execute(NULL, stream, 5, args));
    INVALID("stream", zemm_primitive_execute(c.primitive, NULL, 5, args));
    INVALID("args", zemm_primitive_execute(c.primitive, stream, 5, NULL));
    INVALID("-1", EXECUTE(-1));
    INVALID("missing", zemm_primitive_execute(c.primitive, stream, 0, NULL));
    for (int i = 0; i < 5; i++) { /* an argument that is left out and a NULL memory are both missing */
        RESET();
        args[i].memory = NULL;
        INVALID("missing", EXECUTE(5));
        RESET();
        args[i] = args[4];
        INVALID("missing", EXECUTE(4));
        RESET();
        args[5] = args[i];
        INVALID("twice", EXECUTE(6));
    }
    RESET();
    args[5].arg = ZEMM_ARG_ATTR_MULTIPLE_POST_OP(0) | ZEMM_ARG_SRC_1;
    args[5].memory = args[0].memory;
    INVALID("surplus", EXECUTE(6));

    RESET();
    OK(zemm_memory_create(&memory, wrong, engine, ZEMM_MEMORY_ALLOCATE));
    args[0].memory = memory;
    INVALID("ZEMM_ARG_SRC has data type f16", EXECUTE(5));
    OK(zemm_memory_destroy(memory));
    OK(zemm_memory_create(&memory, wide, engine, ZEMM_MEMORY_ALLOCATE));
    args[0].memory = memory;
    INVALID("ZEMM_ARG_SRC", EXECUTE(5));
    OK(zemm_memory_destroy(memory));
    OK(zemm_memory_create(&none, right_md, engine, ZEMM_MEMORY_NONE));
    args[0].memory = none;
    INVALID("no data", EXECUTE(5));
    OK(zemm_memory_set_data_handle(none, src)); /* the buffer is set later */
    OK(EXECUTE(5));
    OK(zemm_stream_wait(stream));
    CHECK(right());
    OK(zemm_memory_destroy(none));
    clear();

    RESET();
    OK(zemm_memory_create(&memory, no_zps, engine, ZEMM_MEMORY_ALLOCATE));
    args[3].memory = memory;
    INVALID("1 dense elements", EXECUTE(5));
    OK(zemm_memory_destroy(memory));
    RESET();
    OK(zemm_memory_desc_create_host_scalar(&scalar, zemm_f32));
    OK(zemm_memory_create_host_scalar(&memory, scalar, &value));
    args[2].memory = memory;
    INVALID("host scalar", EXECUTE(5));
    OK(zemm_memory_destroy(memory));

    OK(zemm_engine_create(&other, zemm_cpu, 0));
    OK(zemm_stream_create(&other_stream, other, zemm_stream_default_flags));
    RESET();
    INVALID("engine", zemm_primitive_execute(c.primitive, other_stream, 5, args));
    OK(zemm_memory_create(&memory, right_md, other, src));
    args[0].memory = memory;
    INVALID("engine", EXECUTE(5));
    OK(zemm_memory_destroy(memory));
    OK(zemm_stream_destroy(other_stream));
    OK(zemm_engine_destroy(other));

    CHECK(untouched()); /* nothing has run */
    RESET();
    args[5].arg = 12345; /* unknown arguments and their NULL memories are ignored */
    args[5].memory = args[0].memory;
    args[6].arg = ZEMM_ARG_WORKSPACE;
    args[6].memory = NULL;
    OK(EXECUTE(7));
    OK(zemm_stream_wait(stream));
    CHECK(right());
#undef EXECUTE
    call_free(&c);
    OK(zemm_memory_desc_destroy(scalar));
    OK(zemm_memory_desc_destroy(wrong));
    OK(zemm_memory_desc_destroy(wide));
    OK(zemm_memory_desc_destroy(right_md));
    OK(zemm_memory_desc_destroy(no_zps));
}

/* A parameter is read as dense, whatever the dimensions and strides of its memory. Only the size of
 * its buffer counts. */
static void test_parameters(void) {
    struct call c;
    zemm_memory_t memory = NULL;
    zemm_memory_desc_t wide = NULL, few = NULL;
    zemm_primitive_attr_t attr = new_attr();
    zemm_memory_desc_t s = dense(2, DIMS(M, K), zemm_s8), w = dense(2, DIMS(K, N), zemm_u8),
                       b = dense(2, DIMS(1, N), zemm_f32), d = dense(2, DIMS(M, N), zemm_f32);
    uint8_t zps[8] = {128, 128, 128, 1, 2, 3, 4, 5};
    OK(zemm_primitive_attr_set_zero_points(attr, ZEMM_ARG_WEIGHTS, 2, 0, NULL, zemm_u8));
    call_make(&c, engine, s, w, b, d, attr);
    call_arg(&c, ZEMM_ARG_SRC, src);
    call_arg(&c, ZEMM_ARG_WEIGHTS, wei);
    call_arg(&c, ZEMM_ARG_BIAS, bias);
    call_arg(&c, ZEMM_ARG_DST, dst);
    clear();
    OK(zemm_memory_desc_create_with_strides(&few, 2, DIMS(1, N - 1), zemm_u8, NULL));
    OK(zemm_memory_create(&memory, few, engine, zps));
    c.args[4].arg = ZERO_POINTS(ZEMM_ARG_WEIGHTS);
    c.args[4].memory = memory;
    INVALID("3 dense elements", zemm_primitive_execute(c.primitive, stream, 5, c.args));
    OK(zemm_memory_destroy(memory));
    CHECK(untouched());
    OK(zemm_memory_desc_create_with_strides(&wide, 2, DIMS(2, 2), zemm_u8, DIMS(1, 4)));
    OK(zemm_memory_create(&memory, wide, engine, zps));
    c.args[4].memory = memory;
    c.nargs = 5;
    call_run(&c, stream);
    CHECK(right());
    call_free(&c);
    zemm_memory_desc_t mds[] = {s, w, b, d, wide, few};
    for (int i = 0; i < COUNT(mds); i++)
        OK(zemm_memory_desc_destroy(mds[i]));
    OK(zemm_primitive_attr_destroy(attr));
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
        OK(zemm_memory_destroy(memories[i]));
        OK(zemm_memory_desc_destroy(mds[i]));
    }
    OK(zemm_memory_desc_destroy(s));
    OK(zemm_memory_desc_destroy(d));
    OK(zemm_primitive_destroy(c.primitive));
    OK(zemm_primitive_desc_destroy(c.pd));
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

static void test_scratchpad(void) {
    struct call c;
    int64_t bytes = 0;
    make(&c, engine, 0);
    CHECK(zemm_memory_desc_get_size(zemm_primitive_desc_query_md(c.pd, zemm_query_scratchpad_md, 0)) == 0);
    OK(zemm_primitive_desc_query(c.pd, zemm_query_memory_consumption_s64, 0, &bytes));
    CHECK(bytes > 0);
    clear();
    call_run(&c, stream);
    CHECK(right());
    call_free(&c);

    make(&c, engine, 1);
    const_zemm_memory_desc_t md = zemm_primitive_desc_query_md(c.pd, zemm_query_scratchpad_md, 0);
    int ndims = 0;
    zemm_data_type_t type = zemm_data_type_undef;
    CHECK(zemm_memory_desc_get_size(md) == (size_t)bytes + 63); /* room to begin at any address */
    OK(zemm_memory_desc_query(md, zemm_query_ndims_s32, &ndims));
    OK(zemm_memory_desc_query(md, zemm_query_data_type, &type));
    CHECK(ndims == 1 && type == zemm_u8);
    CHECK(zemm_memory_desc_equal(
        md, zemm_primitive_desc_query_md(c.pd, zemm_query_exec_arg_md, ZEMM_ARG_SCRATCHPAD)));
    bytes = -1;
    OK(zemm_primitive_desc_query(c.pd, zemm_query_memory_consumption_s64, 0, &bytes));
    CHECK(bytes == 0);
    clear();
    INVALID("ZEMM_ARG_SCRATCHPAD is missing", zemm_primitive_execute(c.primitive, stream, c.nargs, c.args));
    CHECK(untouched());
    void *scratchpad = malloc(zemm_memory_desc_get_size(md));
    call_arg(&c, ZEMM_ARG_SCRATCHPAD, scratchpad);
    call_run(&c, stream);
    CHECK(right());
    call_free(&c);
    free(scratchpad);
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
            OK(zemm_post_ops_destroy(ops));
            OK(zemm_primitive_attr_destroy(attr));
            OK(zemm_memory_desc_destroy(s));
            OK(zemm_memory_desc_destroy(w));
            OK(zemm_memory_desc_destroy(x));
            OK(zemm_memory_desc_destroy(d));
        }
}

/* Primitives that differ in a single number are different primitives, with the cache on and off. */
static void test_cache(void) {
    static const int capacities[] = {1024, 1, 0};
    int capacity = -1;
    for (int i = 0; i < COUNT(capacities); i++) {
        OK(zemm_set_primitive_cache_capacity(capacities[i]));
        OK(zemm_get_primitive_cache_capacity(&capacity));
        CHECK(capacity == capacities[i]);
        for (int round = 0; round < 2; round++)
            for (int kind = 0; kind < 6; kind++) {
                float s[2] = {1, 2}, w[2] = {3, 4}, d[1] = {10};
                const float expected[6] = {11, 22, -11, 21, 31, 23};
                struct call c;
                zemm_primitive_attr_t attr = new_attr();
                zemm_post_ops_t ops = NULL;
                zemm_memory_desc_t s_md = dense(2, DIMS(1, 2), zemm_f32),
                                   w_md = dense(2, DIMS(2, 1), zemm_f32),
                                   d_md = dense(2, DIMS(1, 1), zemm_f32);
                OK(zemm_post_ops_create(&ops));
                if (kind == 1 || kind == 2)
                    OK(zemm_post_ops_append_eltwise(ops, zemm_eltwise_linear, kind == 1 ? 2.f : -1.f, 0.f));
                if (kind == 3 || kind == 4)
                    OK(zemm_post_ops_append_sum(ops, kind == 3 ? 1.f : 2.f, 0, zemm_f32));
                if (kind == 5)
                    OK(zemm_post_ops_append_eltwise(ops, zemm_eltwise_linear, 2.f, 1.f));
                OK(zemm_primitive_attr_set_post_ops(attr, ops));
                call_make(&c, engine, s_md, w_md, NULL, d_md, attr);
                call_arg(&c, ZEMM_ARG_SRC, s);
                call_arg(&c, ZEMM_ARG_WEIGHTS, w);
                call_arg(&c, ZEMM_ARG_DST, d);
                call_run(&c, stream);
                CHECK(d[0] == expected[kind]);
                call_free(&c);
                OK(zemm_post_ops_destroy(ops));
                OK(zemm_primitive_attr_destroy(attr));
                OK(zemm_memory_desc_destroy(s_md));
                OK(zemm_memory_desc_destroy(w_md));
                OK(zemm_memory_desc_destroy(d_md));
            }
    }
    INVALID("-1", zemm_set_primitive_cache_capacity(-1));
    INVALID("capacity", zemm_get_primitive_cache_capacity(NULL));
    OK(zemm_set_primitive_cache_capacity(1024));
}

static void test_blobs_and_handles(void) {
    struct call c;
    size_t size = 99;
    uint8_t blob[8] = {0};
    zemm_primitive_t p = NULL;
    const_zemm_primitive_desc_t pd = NULL;
    make(&c, engine, 0);
    INVALID("size", zemm_primitive_get_cache_blob(c.primitive, NULL, NULL));
    INVALID("99", zemm_primitive_get_cache_blob(c.primitive, &size, blob));
    CHECK(size == 99);
    INVALID("too short", zemm_primitive_create_from_cache_blob(&p, c.pd, sizeof blob, blob));
    INVALID("empty", zemm_primitive_create_from_cache_blob(&p, c.pd, 0, blob));
    INVALID("cache_blob", zemm_primitive_create_from_cache_blob(&p, c.pd, sizeof blob, NULL));
    INVALID("primitive", zemm_primitive_get_cache_blob(NULL, &size, NULL));
    INVALID("primitive_desc", zemm_primitive_create_from_cache_blob(&p, NULL, sizeof blob, blob));
    INVALID("primitive", zemm_primitive_create(NULL, c.pd));
    INVALID("primitive_desc", zemm_primitive_create(&p, NULL));
    CHECK(!p);
    OK(zemm_primitive_get_primitive_desc(c.primitive, &pd));
    CHECK(zemm_primitive_desc_query_s32(pd, zemm_query_num_of_inputs_s32, 0) == 3);
    INVALID("primitive", zemm_primitive_get_primitive_desc(NULL, &pd));
    INVALID("primitive_desc", zemm_primitive_get_primitive_desc(c.primitive, NULL));
    /* the primitive outlives its descriptor */
    OK(zemm_primitive_desc_destroy(c.pd));
    c.pd = NULL;
    clear();
    call_run(&c, stream);
    CHECK(right());
    call_free(&c);
}

int main(void) {
    OK(zemm_engine_create(&engine, zemm_cpu, 0));
    OK(zemm_stream_create(&stream, engine, zemm_stream_default_flags));
    fill();
    test_refusals();
    test_parameters();
    test_submemories();
    test_types();
    test_scratchpad();
    test_zero_dims();
    test_cache();
    test_blobs_and_handles();
    OK(zemm_stream_destroy(stream));
    OK(zemm_engine_destroy(engine));
    return 0;
}
