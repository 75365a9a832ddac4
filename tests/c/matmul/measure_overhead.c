/* SPDX-License-Identifier: Apache-2.0 */
/* Measures the cost of creation and of a launch with a matmul that computes next to nothing.
 * Nothing is asserted. The first creation builds the kernel, or loads it if ZEMM_CACHE_DIR has it;
 * the first run fills that folder. */
#define _POSIX_C_SOURCE 200809L
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "destroy.h"

enum { K = 64, N = 64, rounds = 2000, batch = 100, warm_up = 200 };

static zemm_engine_t engine;
static zemm_memory_desc_t src_md, wei_md, dst_md, zp_md;
static double times[3][rounds];

static double now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static int order(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print(const char *what, double *values, int count) {
    qsort(values, (size_t)count, sizeof *values, order);
    printf("  %-40s best %8.2f  median %8.2f  9 of 10 below %8.2f us\n", what, values[0], values[count / 2],
           values[count * 9 / 10]);
}

static zemm_memory_desc_t matrix(zemm_dim_t rows, zemm_dim_t columns, zemm_data_type_t type) {
    const zemm_dims_t dims = {rows, columns};
    zemm_memory_desc_t md;
    OK(zemm_memory_desc_create_with_tag(&md, 2, dims, type, zemm_ab));
    return md;
}

static zemm_memory_t memory(zemm_memory_desc_t md, void *data) {
    zemm_memory_t result;
    OK(zemm_memory_create(&result, md, engine, data));
    return result;
}

/* Creates the primitive descriptor and the primitive, and measures the time of each. */
static zemm_primitive_t create(zemm_primitive_attr_t attr, double *desc_us, double *primitive_us) {
    zemm_primitive_desc_t pd;
    zemm_primitive_t primitive;
    const double start = now_us();
    OK(zemm_matmul_primitive_desc_create(&pd, engine, src_md, wei_md, NULL, dst_md, attr));
    const double middle = now_us();
    OK(zemm_primitive_create(&primitive, pd));
    *primitive_us = now_us() - middle;
    *desc_us = middle - start;
    OK(zemm_primitive_desc_destroy(pd));
    return primitive;
}

static void measure_creation(zemm_primitive_attr_t attr) {
    double desc_us, primitive_us;
    OK(zemm_primitive_destroy(create(attr, &desc_us, &primitive_us)));
    printf("  first creation: descriptor %.1f us, primitive %.2f ms\n", desc_us, primitive_us / 1e3);
    for (int i = 0; i < rounds; i++) {
        OK(zemm_primitive_destroy(create(attr, &times[0][i], &times[1][i])));
        times[2][i] = times[0][i] + times[1][i];
    }
    print("primitive descriptor", times[0], rounds);
    print("primitive, cache hit", times[1], rounds);
    print("both", times[2], rounds);
}

static void measure_launches(zemm_primitive_t primitive, int nargs, const zemm_exec_arg_t *args) {
    zemm_stream_t stream, profiling;
    OK(zemm_stream_create(&stream, engine, zemm_stream_default_flags));
    OK(zemm_stream_create(&profiling, engine, zemm_stream_profiling));
    for (int i = -warm_up; i < rounds; i++) {
        const double start = now_us();
        OK(zemm_primitive_execute(primitive, stream, nargs, args));
        const double middle = now_us();
        OK(zemm_stream_wait(stream));
        if (i < 0)
            continue;
        times[0][i] = middle - start;
        times[2][i] = now_us() - start;
    }
    print("execute", times[0], rounds);
    print("execute and wait", times[2], rounds);
    for (int i = 0; i < rounds / batch; i++) {
        const double start = now_us();
        for (int j = 0; j < batch; j++)
            OK(zemm_primitive_execute(primitive, stream, nargs, args));
        OK(zemm_stream_wait(stream));
        times[0][i] = (now_us() - start) / batch;
    }
    print("each of 100 executions, then wait", times[0], rounds / batch);

    static uint64_t ns[rounds];
    int count = rounds;
    for (int i = 0; i < rounds; i++) {
        OK(zemm_primitive_execute(primitive, profiling, nargs, args));
        OK(zemm_stream_wait(profiling));
    }
    OK(zemm_query_profiling_data(profiling, zemm_profiling_data_kind_time, &count, ns));
    for (int i = 0; i < count; i++)
        times[0][i] = (double)ns[i] * 1e-3;
    print("device time, by timestamps", times[0], count);
    DESTROY(profiling, stream);
}

/* A primitive for any number of rows: executions with a number that it meets for the first time,
 * and with one that it knows, beside the primitive for that number. */
static void measure_shapes(zemm_primitive_attr_t attr, zemm_memory_t wei) {
    enum { shapes = 100 };
    static int8_t src[shapes * K];
    static float dst[shapes * N];
    zemm_stream_t stream;
    OK(zemm_stream_create(&stream, engine, zemm_stream_default_flags));
    double unused[2];
    zemm_primitive_t any, one = create(attr, &unused[0], &unused[1]);
    src_md = matrix(ZEMM_RUNTIME_DIM_VAL, K, zemm_s8);
    dst_md = matrix(ZEMM_RUNTIME_DIM_VAL, N, zemm_f32);
    for (int round = 0; round < rounds / shapes; round++) {
        any = create(attr, &times[0][round], &unused[1]);
        for (int i = 0; i < shapes; i++) {
            const zemm_memory_t from = memory(matrix(i + 1, K, zemm_s8), src);
            const zemm_memory_t to = memory(matrix(i + 1, N, zemm_f32), dst);
            const zemm_exec_arg_t args[] = {
                {ZEMM_ARG_SRC, from}, {ZEMM_ARG_WEIGHTS, wei}, {ZEMM_ARG_DST, to}};
            for (int use = 0; use < 2; use++) {
                const double start = now_us();
                OK(zemm_primitive_execute(any, stream, 3, args));
                times[1 + use][round * shapes + i] = now_us() - start;
                OK(zemm_stream_wait(stream));
            }
        }
        if (round + 1 < rounds / shapes)
            OK(zemm_primitive_destroy(any));
    }
    print("primitive descriptor", times[0], rounds / shapes);
    print("execute, first use of a shape", times[1], rounds);
    const zemm_exec_arg_t args[] = {{ZEMM_ARG_SRC, memory(matrix(1, K, zemm_s8), src)},
                                    {ZEMM_ARG_WEIGHTS, wei},
                                    {ZEMM_ARG_DST, memory(matrix(1, N, zemm_f32), dst)}};
    for (int i = -warm_up; i < rounds; i++) /* in turns, for both meet the same noise */
        for (int which = 0; which < 2; which++) {
            const double start = now_us();
            OK(zemm_primitive_execute(which ? any : one, stream, 3, args));
            if (i >= 0)
                times[which][i] = now_us() - start;
            OK(zemm_stream_wait(stream));
        }
    print("execute, known shape", times[1], rounds);
    print("execute, the primitive for the shape", times[0], rounds);
    OK(zemm_stream_destroy(stream));
}

int main(void) {
    static int8_t src[K];
    static uint8_t wei[K * N], zero_point[1] = {3};
    static float dst[N];
    const double start = now_us();
    OK(zemm_engine_create(&engine, zemm_cpu, 0));
    printf("engine: %.1f ms, with the OpenCL runtime's start\n", (now_us() - start) / 1e3);
    src_md = matrix(1, K, zemm_s8);
    wei_md = matrix(K, N, zemm_u8);
    dst_md = matrix(1, N, zemm_f32);
    const zemm_dims_t one = {1};
    OK(zemm_memory_desc_create_with_tag(&zp_md, 1, one, zemm_u8, zemm_a));
    zemm_primitive_attr_t attr;
    OK(zemm_primitive_attr_create(&attr));
    const zemm_exec_arg_t args[] = {
        {ZEMM_ARG_SRC, memory(src_md, src)},
        {ZEMM_ARG_WEIGHTS, memory(wei_md, wei)},
        {ZEMM_ARG_DST, memory(dst_md, dst)},
        {ZEMM_ARG_ATTR_ZERO_POINTS | ZEMM_ARG_WEIGHTS, memory(zp_md, zero_point)},
    };
    for (int launches = 1; launches <= 2; launches++) {
        if (launches == 2) /* a kernel of its own computes the sums of src */
            OK(zemm_primitive_attr_set_zero_points(attr, ZEMM_ARG_WEIGHTS, 0, 0, NULL, zemm_u8));
        printf("1x%d:%dx%d s8:u8:f32, %s\n", K, K, N,
               launches == 1 ? "one kernel" : "weights zero point: two kernels");
        measure_creation(attr);
        double unused[2];
        const zemm_primitive_t primitive = create(attr, &unused[0], &unused[1]);
        measure_launches(primitive, launches == 1 ? 3 : 4, args);
        OK(zemm_primitive_destroy(primitive));
    }
    zemm_primitive_attr_t none;
    OK(zemm_primitive_attr_create(&none));
    printf("Mx%d:%dx%d s8:u8:f32, M is a runtime dimension\n", K, K, N);
    measure_shapes(none, args[1].memory);
    return 0; /* the process ends, so the rest is not destroyed */
}
