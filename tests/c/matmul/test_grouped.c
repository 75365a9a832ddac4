/* SPDX-License-Identifier: Apache-2.0 */
/* A grouped matmul: each group of rows of src has a matrix of weights. Executions follow each other
 * without a wait, their objects go while the work may still run, and a hint of the largest group is
 * taken. */
#include <string.h>

#include "destroy.h"

enum { ROWS = 11, K = 16, N = 20, GROUPS = 3 };

static const int32_t ends[2][GROUPS] = {{4, 4, 11}, {0, 9, 10}};

struct data {
    float src[ROWS][K], wei[GROUPS][K][N], dst[ROWS][N];
    int32_t ends[GROUPS];
};

static void fill(struct data *d, int which) {
    for (int i = 0; i < ROWS * K; i++)
        (&d->src[0][0])[i] = (float)((i + which) * 7 % 13 - 6);
    for (int i = 0; i < GROUPS * K * N; i++)
        (&d->wei[0][0][0])[i] = (float)((i + which) * 5 % 11 - 5);
    for (int i = 0; i < ROWS * N; i++)
        (&d->dst[0][0])[i] = -1e6f;
    memcpy(d->ends, ends[which], sizeof d->ends);
}

static void check(const struct data *d) {
    for (int row = 0; row < ROWS; row++)
        for (int n = 0; n < N; n++) {
            int group = 0;
            while (group < GROUPS && row >= d->ends[group])
                group++;
            float sum = group < GROUPS ? 0.f : -1e6f; /* rows past the last group stay */
            for (int k = 0; group < GROUPS && k < K; k++)
                sum += d->src[row][k] * d->wei[group][k][n];
            CHECK(d->dst[row][n] == sum);
        }
}

static zemm_memory_desc_t grouped(zemm_dim_t columns) {
    zemm_memory_desc_t md;
    const zemm_dims_t dims = {ROWS, columns};
    OK(zemm_memory_desc_create_with_grouped_encoding(&md, 2, dims, zemm_f32, 0, GROUPS, zemm_s32));
    return md;
}

static void execute(zemm_primitive_t matmul, zemm_engine_t engine, zemm_stream_t stream, struct data *d) {
    const_zemm_primitive_desc_t pd;
    OK(zemm_primitive_get_primitive_desc(matmul, &pd));
    zemm_memory_t src, wei, dst, hint;
    zemm_memory_desc_t hint_md;
    void *src_parts[] = {d->src, d->ends}, *dst_parts[] = {d->dst, d->ends};
    int32_t largest = 9;
    OK(zemm_memory_create_v2(&src, zemm_primitive_desc_query_md(pd, zemm_query_src_md, 0), engine, 2,
                             src_parts));
    OK(zemm_memory_create(&wei, zemm_primitive_desc_query_md(pd, zemm_query_weights_md, 0), engine, d->wei));
    OK(zemm_memory_create_v2(&dst, zemm_primitive_desc_query_md(pd, zemm_query_dst_md, 0), engine, 2,
                             dst_parts));
    OK(zemm_memory_desc_create_host_scalar(&hint_md, zemm_s32));
    OK(zemm_memory_create_host_scalar(&hint, hint_md, &largest));
    const zemm_exec_arg_t args[] = {{ZEMM_ARG_SRC, src},
                                    {ZEMM_ARG_WEIGHTS, wei},
                                    {ZEMM_ARG_DST, dst},
                                    {ZEMM_ARG_HINT_MAX_GROUP_SIZE, hint}};
    OK(zemm_primitive_execute(matmul, stream, 4, args));
    DESTROY(src, wei, dst, hint, hint_md);
}

int main(void) {
    zemm_engine_t engine;
    zemm_stream_t stream;
    OK(zemm_engine_create(&engine, zemm_cpu, 0));
    OK(zemm_stream_create(&stream, engine, zemm_stream_default_flags));
    zemm_memory_desc_t src_md = grouped(K), dst_md = grouped(N), wei_md;
    const zemm_dims_t wei_dims = {GROUPS, K, N};
    OK(zemm_memory_desc_create_with_tag(&wei_md, 3, wei_dims, zemm_f32, zemm_abc));
    zemm_primitive_desc_t pd, clone;
    zemm_primitive_t matmul;
    OK(zemm_matmul_primitive_desc_create(&pd, engine, src_md, wei_md, NULL, dst_md, NULL));
    CHECK(zemm_memory_desc_equal(zemm_primitive_desc_query_md(pd, zemm_query_src_md, 0), src_md));
    CHECK(zemm_memory_desc_equal(zemm_primitive_desc_query_md(pd, zemm_query_dst_md, 0), dst_md));
    CHECK(zemm_primitive_desc_query_s32(pd, zemm_query_num_of_inputs_s32, 0) == 2);
    OK(zemm_primitive_desc_clone(&clone, pd));
    OK(zemm_primitive_create(&matmul, clone));

    struct data first, second;
    fill(&first, 0);
    fill(&second, 1);
    execute(matmul, engine, stream, &first);
    execute(matmul, engine, stream, &second); /* other sizes: another kernel may run */
    OK(zemm_primitive_destroy(matmul));
    OK(zemm_stream_wait(stream));
    check(&first);
    check(&second);

    /* The next implementation computes the same. */
    OK(zemm_primitive_desc_next_impl(pd));
    OK(zemm_primitive_create(&matmul, pd));
    fill(&first, 0);
    execute(matmul, engine, stream, &first);
    OK(zemm_stream_destroy(stream)); /* waits */
    check(&first);

    DESTROY(matmul, pd, clone, src_md, dst_md, wei_md, engine);
    return 0;
}
