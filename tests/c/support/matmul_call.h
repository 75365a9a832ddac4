/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the C tests of matmul: short ways to create descriptors and to collect execution
 * arguments. */
#ifndef ZEMM_TESTS_MATMUL_CALL_H
#define ZEMM_TESTS_MATMUL_CALL_H

#include "destroy.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))
#define DIMS(...) ((const zemm_dim_t *)(const zemm_dims_t){__VA_ARGS__})

static inline zemm_memory_desc_t dense(int ndims, const zemm_dim_t *dims, zemm_data_type_t dt) {
    zemm_memory_desc_t md = NULL;
    OK(zemm_memory_desc_create_with_strides(&md, ndims, dims, dt, NULL));
    return md;
}

static inline zemm_memory_desc_t tagged(int ndims, const zemm_dim_t *dims, zemm_data_type_t dt,
                                        zemm_format_tag_t tag) {
    zemm_memory_desc_t md = NULL;
    OK(zemm_memory_desc_create_with_tag(&md, ndims, dims, dt, tag));
    return md;
}

static inline zemm_primitive_attr_t new_attr(void) {
    zemm_primitive_attr_t attr = NULL;
    OK(zemm_primitive_attr_create(&attr));
    return attr;
}

/* A matmul and its execution arguments. call_free() releases everything that call_*() created. */
struct call {
    zemm_engine_t engine;
    zemm_primitive_desc_t pd;
    zemm_primitive_t primitive;
    int nargs;
    zemm_exec_arg_t args[48];
};

static inline void call_make(struct call *c, zemm_engine_t engine, const_zemm_memory_desc_t src,
                             const_zemm_memory_desc_t wei, const_zemm_memory_desc_t bias,
                             const_zemm_memory_desc_t dst, const_zemm_primitive_attr_t attr) {
    memset(c, 0, sizeof *c);
    c->engine = engine;
    OK(zemm_matmul_primitive_desc_create(&c->pd, engine, src, wei, bias, dst, attr));
    OK(zemm_primitive_create(&c->primitive, c->pd));
}

/* Adds a memory for the argument, on ordinary host memory. The primitive's descriptor says its
 * layout. */
static inline zemm_memory_t call_arg(struct call *c, int arg, void *data) {
    zemm_memory_t memory = NULL;
    const_zemm_memory_desc_t md = zemm_primitive_desc_query_md(c->pd, zemm_query_exec_arg_md, arg);
    int ndims = 0;
    CHECK(md);
    OK(zemm_memory_desc_query(md, zemm_query_ndims_s32, &ndims));
    CHECK(ndims > 0);
    OK(zemm_memory_create(&memory, md, c->engine, data));
    c->args[c->nargs].arg = arg;
    c->args[c->nargs++].memory = memory;
    return memory;
}

/* Adds a memory of one element for a scale or zero point that is common to the whole tensor. The
 * primitive has no descriptor of those. */
static inline void call_value(struct call *c, int arg, zemm_data_type_t dt, void *data) {
    zemm_memory_desc_t md = dense(1, DIMS(1), dt);
    zemm_memory_t memory = NULL;
    OK(zemm_memory_create(&memory, md, c->engine, data));
    OK(zemm_memory_desc_destroy(md));
    c->args[c->nargs].arg = arg;
    c->args[c->nargs++].memory = memory;
}

static inline void call_run(struct call *c, zemm_stream_t stream) {
    OK(zemm_primitive_execute(c->primitive, stream, c->nargs, c->args));
    OK(zemm_stream_wait(stream));
}

static inline void call_free(struct call *c) {
    for (int i = 0; i < c->nargs; i++)
        OK(zemm_memory_destroy(c->args[i].memory));
    DESTROY(c->primitive, c->pd);
}

#define SCALES(arg) (ZEMM_ARG_ATTR_SCALES | (arg))
#define ZERO_POINTS(arg) (ZEMM_ARG_ATTR_ZERO_POINTS | (arg))
#define REDUCTIONS (ZEMM_ARG_ATTR_PRECOMPUTED_REDUCTIONS | ZEMM_ARG_SRC)

/* A repeatable sequence of small integers in [low, high]. */
static inline int next_int(unsigned *state, int low, int high) {
    *state = *state * 1664525u + 1013904223u;
    return low + (int)((*state >> 8) % (unsigned)(high - low + 1));
}

#endif
