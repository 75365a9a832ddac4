/* SPDX-License-Identifier: Apache-2.0 */
/* A C program of oneDNN that is compiled with zemm/compat/dnnl.h: a matmul with bias, weight scales
 * and a post-op. */
#include <stdio.h>
#include <stdlib.h>

#include <zemm/compat/dnnl.h>

#define CHECK(call)                                                                                          \
    do {                                                                                                     \
        const dnnl_status_t status = (call);                                                                 \
        if (status != dnnl_success) {                                                                        \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, dnnl_status2str(status));          \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

static dnnl_engine_t engine;

static dnnl_memory_t memory(const_dnnl_memory_desc_t md, void *data) {
    dnnl_memory_t result;
    CHECK(dnnl_memory_create(&result, md, engine, data));
    return result;
}

int main(void) {
    float src[2][3] = {{1, 2, 3}, {4, 5, 6}}, bias[1][2] = {{-100, 1}}, scales[2] = {2, 0.5f}, dst[2][2];
    int8_t weights[3][2] = {{1, -2}, {3, -4}, {5, -6}};
    const dnnl_dims_t src_dims = {2, 3}, weights_dims = {3, 2}, bias_dims = {1, 2}, dst_dims = {2, 2};
    const dnnl_dims_t scales_dims = {2};
    CHECK(dnnl_engine_create(&engine, dnnl_cpu, 0));
    dnnl_stream_t stream;
    CHECK(dnnl_stream_create(&stream, engine, dnnl_stream_default_flags));

    dnnl_memory_desc_t src_md, weights_md, bias_md, dst_md, scales_md;
    CHECK(dnnl_memory_desc_create_with_tag(&src_md, 2, src_dims, dnnl_f32, dnnl_ab));
    CHECK(dnnl_memory_desc_create_with_tag(&weights_md, 2, weights_dims, dnnl_s8, dnnl_ab));
    CHECK(dnnl_memory_desc_create_with_tag(&bias_md, 2, bias_dims, dnnl_f32, dnnl_ab));
    CHECK(dnnl_memory_desc_create_with_tag(&dst_md, 2, dst_dims, dnnl_f32, dnnl_ab));
    CHECK(dnnl_memory_desc_create_with_tag(&scales_md, 1, scales_dims, dnnl_f32, dnnl_a));

    dnnl_post_ops_t post_ops;
    CHECK(dnnl_post_ops_create(&post_ops));
    CHECK(dnnl_post_ops_append_eltwise(post_ops, dnnl_eltwise_relu, 0, 0));
    dnnl_primitive_attr_t attr;
    CHECK(dnnl_primitive_attr_create(&attr));
    CHECK(dnnl_primitive_attr_set_post_ops(attr, post_ops));
    CHECK(dnnl_primitive_attr_set_fpmath_mode_v2(attr, dnnl_fpmath_mode_strict, 1));
    CHECK(dnnl_primitive_attr_set_scales_mask(attr, DNNL_ARG_WEIGHTS, 1 << 1));

    dnnl_primitive_desc_t pd;
    dnnl_primitive_t matmul;
    CHECK(dnnl_matmul_primitive_desc_create(&pd, engine, src_md, weights_md, bias_md, dst_md, attr));
    CHECK(dnnl_primitive_create(&matmul, pd));
    const dnnl_exec_arg_t args[] = {
        {DNNL_ARG_SRC, memory(src_md, src)},
        {DNNL_ARG_WEIGHTS, memory(weights_md, weights)},
        {DNNL_ARG_BIAS, memory(bias_md, bias)},
        {DNNL_ARG_DST, memory(dst_md, dst)},
        {DNNL_ARG_ATTR_SCALES | DNNL_ARG_WEIGHTS, memory(scales_md, scales)},
    };
    const int nargs = sizeof args / sizeof *args;
    CHECK(dnnl_primitive_execute(matmul, stream, nargs, args));
    CHECK(dnnl_stream_wait(stream));

    int wrong = 0;
    for (int m = 0; m < 2; m++)
        for (int n = 0; n < 2; n++) {
            float sum = 0;
            for (int k = 0; k < 3; k++)
                sum += src[m][k] * weights[k][n];
            const float before = sum * scales[n] + bias[0][n], expected = before > 0 ? before : 0;
            if (dst[m][n] != expected) {
                fprintf(stderr, "dst[%d][%d] is %g, not %g\n", m, n, dst[m][n], expected);
                wrong = 1;
            }
        }

    for (int i = 0; i < nargs; i++)
        CHECK(dnnl_memory_destroy(args[i].memory));
    CHECK(dnnl_primitive_destroy(matmul));
    CHECK(dnnl_primitive_desc_destroy(pd));
    CHECK(dnnl_primitive_attr_destroy(attr));
    CHECK(dnnl_post_ops_destroy(post_ops));
    dnnl_memory_desc_t mds[] = {src_md, weights_md, bias_md, dst_md, scales_md};
    for (int i = 0; i < 5; i++)
        CHECK(dnnl_memory_desc_destroy(mds[i]));
    CHECK(dnnl_stream_destroy(stream));
    CHECK(dnnl_engine_destroy(engine));
    return wrong;
}
