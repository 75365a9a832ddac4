/* SPDX-License-Identifier: Apache-2.0 */
/* fork() while other threads create and execute primitives. The child uses the objects that it
 * inherits, and creates its own.
 *   test_fork FORKS */
#define _DEFAULT_SOURCE
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "matmul_call.h"

enum { THREADS = 3, M = 5, K = 64, N = 33 };

static zemm_engine_t engine;
static struct call shared;
static zemm_stream_t shared_stream;
static zemm_memory_desc_t src_md, wei_md, dst_md;
static volatile int stop;

struct data {
    int8_t src[M][K], wei[K][N];
    int32_t dst[M][N];
};

static void fill(struct data *t, unsigned state) {
    for (int i = 0; i < M * K; i++)
        (&t->src[0][0])[i] = (int8_t)next_int(&state, -128, 127);
    for (int i = 0; i < K * N; i++)
        (&t->wei[0][0])[i] = (int8_t)next_int(&state, -128, 127);
    memset(t->dst, 0xff, sizeof t->dst);
}

static void check(const struct data *t) {
    for (int m = 0; m < M; m++)
        for (int n = 0; n < N; n++) {
            int sum = 0;
            for (int k = 0; k < K; k++)
                sum += t->src[m][k] * t->wei[k][n];
            CHECK(t->dst[m][n] == sum);
        }
}

static void bind(struct call *c, struct data *t) {
    c->nargs = 0;
    call_arg(c, ZEMM_ARG_SRC, t->src);
    call_arg(c, ZEMM_ARG_WEIGHTS, t->wei);
    call_arg(c, ZEMM_ARG_DST, t->dst);
}

static void execute(struct call *c, zemm_stream_t stream, unsigned seed) {
    struct data t;
    fill(&t, seed);
    bind(c, &t);
    call_run(c, stream);
    check(&t);
    while (c->nargs)
        OK(zemm_memory_destroy(c->args[--c->nargs].memory));
}

static void *work(void *arg) {
    const unsigned id = (unsigned)(size_t)arg;
    zemm_stream_t stream = NULL;
    OK(zemm_stream_create(&stream, engine, zemm_stream_default_flags));
    for (unsigned round = 0; !stop; round++) {
        struct call own;
        struct call ours = shared;
        call_make(&own, engine, src_md, wei_md, NULL, dst_md, NULL);
        execute(&own, stream, round + id);
        execute(&ours, stream, round + id);
        call_free(&own);
    }
    OK(zemm_stream_destroy(stream));
    return NULL;
}

static void use_in_child(void) {
    struct call own;
    zemm_memory_desc_t transposed = tagged(2, DIMS(K, N), zemm_s8, zemm_ba);
    zemm_engine_t fresh = NULL;
    zemm_stream_t stream = NULL;
    pthread_t thread;
    alarm(60);
    execute(&shared, shared_stream, 1);
    OK(zemm_engine_create(&fresh, zemm_cpu, 0));
    OK(zemm_stream_create(&stream, fresh, zemm_stream_default_flags));
    call_make(&own, fresh, src_md, wei_md, NULL, dst_md, NULL);
    execute(&own, stream, 2);
    call_free(&own);
    /* this kernel has not been built before */
    OK(zemm_matmul_primitive_desc_create(&own.pd, fresh, src_md, transposed, NULL, dst_md, NULL));
    OK(zemm_primitive_create(&own.primitive, own.pd));
    own.nargs = 0;
    call_free(&own);
    stop = 1; /* after one round */
    CHECK(!pthread_create(&thread, NULL, work, (void *)3));
    CHECK(!pthread_join(thread, NULL));
    DESTROY(stream, fresh);
}

int main(int argc, char **argv) {
    pthread_t threads[THREADS];
    const int forks = argc > 1 ? atoi(argv[1]) : 1;
    if (!zemm_engine_get_count(zemm_cpu))
        return 77; /* skipped */
    OK(zemm_engine_create(&engine, zemm_cpu, 0));
    OK(zemm_stream_create(&shared_stream, engine, zemm_stream_default_flags));
    src_md = tagged(2, DIMS(M, K), zemm_s8, zemm_ab);
    wei_md = tagged(2, DIMS(K, N), zemm_s8, zemm_ab);
    dst_md = tagged(2, DIMS(M, N), zemm_s32, zemm_ab);
    call_make(&shared, engine, src_md, wei_md, NULL, dst_md, NULL);
    OK(zemm_set_primitive_cache_capacity(1)); /* so that threads also look up kernels */
    for (size_t i = 0; i < THREADS; i++)
        CHECK(!pthread_create(&threads[i], NULL, work, (void *)i));
    for (int i = 0; i < forks; i++) {
        int status = -1;
        fflush(stdout);
        const pid_t child = fork();
        if (!child) {
            use_in_child();
            _exit(0);
        }
        CHECK(waitpid(child, &status, 0) == child);
        CHECK(status == 0);
    }
    stop = 1;
    for (size_t i = 0; i < THREADS; i++)
        CHECK(!pthread_join(threads[i], NULL));
    puts("ok");
    return 0;
}
