/* SPDX-License-Identifier: Apache-2.0 */
/* Several threads: one primitive on a stream of each thread, and the same primitives created at the
 * same time. */
#include <pthread.h>

#include "matmul_call.h"

enum { THREADS = 4, ROUNDS = 40, M = 7, K = 48, N = 19, GROUP = 16 };

static zemm_engine_t engine;
static struct call shared; /* its argument list is not used, because each thread has its own */
static zemm_memory_desc_t src_md, wei_md, dst_md;
static int failed[THREADS];

static zemm_primitive_attr_t attr_with(float slope) {
    zemm_primitive_attr_t attr = new_attr();
    zemm_post_ops_t ops = NULL;
    OK(zemm_primitive_attr_set_zero_points(attr, ZEMM_ARG_WEIGHTS, 3, 2, DIMS(GROUP, 1), zemm_u8));
    OK(zemm_post_ops_create(&ops));
    OK(zemm_post_ops_append_eltwise(ops, zemm_eltwise_linear, slope, 0.f));
    OK(zemm_primitive_attr_set_post_ops(attr, ops));
    OK(zemm_post_ops_destroy(ops));
    return attr;
}

struct data {
    int8_t src[M][K];
    uint8_t wei[K][N], zp[K / GROUP][N];
    float dst[M][N];
};

static void fill(struct data *t, unsigned state) {
    for (int i = 0; i < M * K; i++)
        (&t->src[0][0])[i] = (int8_t)next_int(&state, -128, 127);
    for (int i = 0; i < K * N; i++)
        (&t->wei[0][0])[i] = (uint8_t)next_int(&state, 0, 255);
    for (int i = 0; i < K / GROUP * N; i++)
        (&t->zp[0][0])[i] = (uint8_t)next_int(&state, 0, 255);
    memset(t->dst, 0xff, sizeof t->dst);
}

static int right(const struct data *t, float slope) {
    for (int m = 0; m < M; m++)
        for (int n = 0; n < N; n++) {
            int sum = 0;
            for (int k = 0; k < K; k++)
                sum += t->src[m][k] * (t->wei[k][n] - t->zp[k / GROUP][n]);
            if (t->dst[m][n] != slope * (float)sum)
                return 0;
        }
    return 1;
}

static void bind(struct call *c, struct data *t) {
    call_arg(c, ZEMM_ARG_SRC, t->src);
    call_arg(c, ZEMM_ARG_WEIGHTS, t->wei);
    call_arg(c, ZERO_POINTS(ZEMM_ARG_WEIGHTS), t->zp);
    call_arg(c, ZEMM_ARG_DST, t->dst);
}

/* Executes the shared primitive. Each stream must have its own scratchpad for the sums of src. */
static void *execute_shared(void *arg) {
    const int id = (int)(size_t)arg;
    struct data t;
    struct call c = shared;
    zemm_stream_t stream = NULL;
    OK(zemm_stream_create(&stream, engine, zemm_stream_default_flags));
    c.nargs = 0;
    bind(&c, &t);
    for (int round = 0; round < ROUNDS; round++) {
        fill(&t, (unsigned)(id * 1000 + round));
        call_run(&c, stream);
        failed[id] += !right(&t, 1.f);
        /* each thread has its own last error */
        INVALID("missing", zemm_primitive_execute(c.primitive, stream, id, c.args));
    }
    while (c.nargs)
        OK(zemm_memory_destroy(c.args[--c.nargs].memory));
    OK(zemm_stream_destroy(stream));
    return NULL;
}

/* Creates and executes primitives. Other threads create the same ones, and the cache is
 * kept small. */
static void *create_and_execute(void *arg) {
    const int id = (int)(size_t)arg;
    zemm_stream_t stream = NULL;
    OK(zemm_stream_create(&stream, engine, zemm_stream_default_flags));
    for (int round = 0; round < ROUNDS; round++) {
        const float slope = (float)(1 << round % 5);
        struct data t;
        struct call c;
        zemm_primitive_attr_t attr = attr_with(slope);
        OK(zemm_set_primitive_cache_capacity(round % 4));
        call_make(&c, engine, src_md, wei_md, NULL, dst_md, attr);
        OK(zemm_primitive_attr_destroy(attr));
        bind(&c, &t);
        fill(&t, (unsigned)(id + round));
        call_run(&c, stream);
        failed[id] += !right(&t, slope);
        call_free(&c);
    }
    OK(zemm_stream_destroy(stream));
    return NULL;
}

static void run(void *(*body)(void *)) {
    pthread_t threads[THREADS];
    memset(failed, 0, sizeof failed);
    for (int i = 0; i < THREADS; i++)
        CHECK(!pthread_create(&threads[i], NULL, body, (void *)(size_t)i));
    for (int i = 0; i < THREADS; i++)
        CHECK(!pthread_join(threads[i], NULL));
    for (int i = 0; i < THREADS; i++)
        CHECK(failed[i] == 0);
}

int main(void) {
    zemm_primitive_attr_t attr;
    OK(zemm_engine_create(&engine, zemm_cpu, 0));
    src_md = dense(2, DIMS(M, K), zemm_s8);
    wei_md = dense(2, DIMS(K, N), zemm_u8);
    dst_md = dense(2, DIMS(M, N), zemm_f32);
    run(create_and_execute); /* first, so that the first primitives of the process are made at the same time
                              */
    OK(zemm_set_primitive_cache_capacity(1024));
    attr = attr_with(1.f);
    call_make(&shared, engine, src_md, wei_md, NULL, dst_md, attr);
    OK(zemm_primitive_attr_destroy(attr));
    run(execute_shared);
    call_free(&shared);
    DESTROY(src_md, wei_md, dst_md, engine);
    return 0;
}
