/* SPDX-License-Identifier: Apache-2.0 */
/* A matmul of bytes, with a zero point of the weights and precomputed reductions.
 *
 *     cc matmul.c $(pkg-config --cflags --libs zemm) -o matmul && ./matmul
 *
 * Scales, zero points and reductions have a mask: bit d is set if they change along dimension d of their
 * tensor. */
#include <stdio.h>
#include <zemm/zemm.h>

#define CHECK(call)                                                                                          \
    do {                                                                                                     \
        if ((call) != zemm_success) {                                                                        \
            fprintf(stderr, "%s: %s\n", #call, zemm_last_error());                                           \
            return 1;                                                                                        \
        }                                                                                                    \
    } while (0)

/* dst f32 [2, 2] = src s8 [2, 4] * (weights u8 [4, 2] - zero point), zero point 8 */
int main(void) {
    int8_t src[2][4] = {{1, 2, 3, 4}, {-1, -2, -3, -4}};
    uint8_t weights[4][2] = {{9, 8}, {9, 8}, {9, 10}, {9, 8}};
    uint8_t zero_point[1] = {8};
    int32_t reductions[2] = {10, -10}; /* sums of src over K */
    float dst[2][2];
    zemm_dims_t src_dims = {2, 4}, weights_dims = {4, 2}, dst_dims = {2, 2}, one = {1}, red_dims = {2, 1};
    zemm_dims_t groups = {1, 4};

    zemm_engine_t engine;
    zemm_stream_t stream;
    CHECK(zemm_engine_create(&engine, zemm_cpu, 0));
    CHECK(zemm_stream_create(&stream, engine, zemm_stream_default_flags));

    zemm_memory_desc_t src_md, weights_md, dst_md, zp_md, red_md;
    CHECK(zemm_memory_desc_create_with_tag(&src_md, 2, src_dims, zemm_s8, zemm_ab));
    CHECK(zemm_memory_desc_create_with_tag(&weights_md, 2, weights_dims, zemm_u8, zemm_ab));
    CHECK(zemm_memory_desc_create_with_tag(&dst_md, 2, dst_dims, zemm_f32, zemm_ab));
    CHECK(zemm_memory_desc_create_with_tag(&zp_md, 1, one, zemm_u8, zemm_a));
    CHECK(zemm_memory_desc_create_with_tag(&red_md, 2, red_dims, zemm_s32, zemm_ab));

    zemm_primitive_attr_t attr;
    CHECK(zemm_primitive_attr_create(&attr));
    /* Mask 0: one zero point for all weights. */
    CHECK(zemm_primitive_attr_set_zero_points(attr, ZEMM_ARG_WEIGHTS, 0, 0, NULL, zemm_u8));
    /* Mask 3: a sum for each row of src and each group of 4 elements of K, which is all of K here. */
    CHECK(zemm_primitive_attr_set_precomputed_reductions(attr, ZEMM_ARG_SRC, 3, 2, groups, zemm_s32));

    zemm_primitive_desc_t pd;
    zemm_primitive_t matmul;
    CHECK(zemm_matmul_primitive_desc_create(&pd, engine, src_md, weights_md, NULL, dst_md, attr));
    CHECK(zemm_primitive_create(&matmul, pd));

    /* On the CPU device ordinary memory is a memory's handle, without a copy. */
    zemm_memory_t src_mem, weights_mem, dst_mem, zp_mem, red_mem;
    CHECK(zemm_memory_create(&src_mem, src_md, engine, src));
    CHECK(zemm_memory_create(&weights_mem, weights_md, engine, weights));
    CHECK(zemm_memory_create(&dst_mem, dst_md, engine, dst));
    CHECK(zemm_memory_create(&zp_mem, zp_md, engine, zero_point));
    CHECK(zemm_memory_create(&red_mem, red_md, engine, reductions));
    zemm_exec_arg_t args[] = {
        {ZEMM_ARG_SRC, src_mem},
        {ZEMM_ARG_WEIGHTS, weights_mem},
        {ZEMM_ARG_DST, dst_mem},
        {ZEMM_ARG_ATTR_ZERO_POINTS | ZEMM_ARG_WEIGHTS, zp_mem},
        {ZEMM_ARG_ATTR_PRECOMPUTED_REDUCTIONS | ZEMM_ARG_SRC, red_mem},
    };
    CHECK(zemm_primitive_execute(matmul, stream, 5, args));
    CHECK(zemm_stream_wait(stream));
    printf("%g %g\n%g %g\n", dst[0][0], dst[0][1], dst[1][0], dst[1][1]); /* 10 6, -10 -6 */
    return 0; /* objects live until the process ends: zemm_*_destroy() would free them */
}
