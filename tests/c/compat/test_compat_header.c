/* SPDX-License-Identifier: Apache-2.0 */
/* A C program of oneDNN that is compiled with zemm/compat/dnnl.h: a matmul with scales and a post-op. */
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

static dnnl_memory_desc_t desc(dnnl_dim_t rows, dnnl_dim_t columns, dnnl_data_type_t type) {
    const dnnl_dims_t dims = {rows, columns};
    dnnl_memory_desc_t md;
    CHECK(dnnl_memory_desc_create_with_tag(&md, 2, dims, type, dnnl_ab));
    return md;
}

static dnnl_memory_t memory(const_dnnl_memory_desc_t md, void *data) {
    dnnl_memory_t result;
    CHECK(dnnl_memory_create(&result, md, engine, data));
    return result;
}

int main(void) {
    float src[1][2] = {{1, 2}}, scales[2] = {2, 0.5f}, dst[1][2];
    int8_t weights[2][2] = {{1, -2}, {3, -4}};
    dnnl_stream_t stream;
    dnnl_post_ops_t post_ops;
    dnnl_primitive_attr_t attr;
    dnnl_primitive_desc_t pd;
    dnnl_primitive_t matmul;
    CHECK(dnnl_engine_create(&engine, dnnl_cpu, 0));
    CHECK(dnnl_stream_create(&stream, engine, dnnl_stream_default_flags));
    CHECK(dnnl_post_ops_create(&post_ops));
    CHECK(dnnl_post_ops_append_eltwise(post_ops, dnnl_eltwise_relu, 0, 0));
    CHECK(dnnl_primitive_attr_create(&attr));
    CHECK(dnnl_primitive_attr_set_post_ops(attr, post_ops));
    CHECK(dnnl_primitive_attr_set_fpmath_mode_v2(attr, dnnl_fpmath_mode_strict, 1));
    CHECK(dnnl_primitive_attr_set_scales_mask(attr, DNNL_ARG_WEIGHTS, 1 << 1));

    dnnl_memory_desc_t src_md = desc(1, 2, dnnl_f32), weights_md = desc(2, 2, dnnl_s8);
    CHECK(dnnl_matmul_primitive_desc_create(&pd, engine, src_md, weights_md, NULL, src_md, attr));
    CHECK(dnnl_primitive_create(&matmul, pd));
    const dnnl_exec_arg_t args[] = {
        {DNNL_ARG_SRC, memory(src_md, src)},
        {DNNL_ARG_WEIGHTS, memory(weights_md, weights)},
        {DNNL_ARG_DST, memory(src_md, dst)},
        {DNNL_ARG_ATTR_SCALES | DNNL_ARG_WEIGHTS, memory(src_md, scales)},
    };
    CHECK(dnnl_primitive_execute(matmul, stream, 4, args));
    CHECK(dnnl_stream_wait(stream));
    for (int i = 0; i < 4; i++)
        CHECK(dnnl_memory_destroy(args[i].memory));
    CHECK(dnnl_primitive_destroy(matmul));
    CHECK(dnnl_primitive_desc_destroy(pd));
    CHECK(dnnl_primitive_attr_destroy(attr));
    CHECK(dnnl_post_ops_destroy(post_ops));
    CHECK(dnnl_memory_desc_destroy(src_md));
    CHECK(dnnl_memory_desc_destroy(weights_md));
    CHECK(dnnl_stream_destroy(stream));
    CHECK(dnnl_engine_destroy(engine));
    return dst[0][0] == 14 && dst[0][1] == 0 ? 0 : 1;
}
