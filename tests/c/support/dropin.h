// SPDX-License-Identifier: Apache-2.0
// What libdnnl.so.3 exports, without oneDNN's headers.
#pragma once

#include "check.h"

extern "C" {
#define DNNL_ABSENT(name, sentence) zemm_status_t dnnl_##name(void *, ...);
#include "compat/compat.def"

zemm_status_t dnnl_sgemm(char, char, zemm_dim_t, zemm_dim_t, zemm_dim_t, float, const float *, zemm_dim_t,
                         const float *, zemm_dim_t, float, float *, zemm_dim_t);
zemm_status_t dnnl_gemm_u8s8s32(char, char, char, zemm_dim_t, zemm_dim_t, zemm_dim_t, float, const uint8_t *,
                                zemm_dim_t, uint8_t, const int8_t *, zemm_dim_t, int8_t, float, int32_t *,
                                zemm_dim_t, const int32_t *);
zemm_status_t dnnl_gemm_s8s8s32(char, char, char, zemm_dim_t, zemm_dim_t, zemm_dim_t, float, const int8_t *,
                                zemm_dim_t, int8_t, const int8_t *, zemm_dim_t, int8_t, float, int32_t *,
                                zemm_dim_t, const int32_t *);
const zemm_version_t *dnnl_version(void);
zemm_status_t dnnl_verbose_profiling_enabled(int *);
zemm_status_t dnnl_set_cpu_isa_hints(int);
int dnnl_get_cpu_isa_hints(void);
int dnnl_get_effective_cpu_isa(void);
const char *dnnl_cpu_isa2str(int);
const char *dnnl_cpu_isa_hints2str(int);
const char *dnnl_rnn_flags2str(int);
const char *dnnl_rnn_direction2str(int);
zemm_status_t dnnl_memory_desc_create_with_tag(zemm_memory_desc_t *, int, const zemm_dims_t, zemm_data_type_t,
                                               zemm_format_tag_t);
zemm_status_t dnnl_memory_desc_destroy(zemm_memory_desc_t);
zemm_status_t dnnl_primitive_execute(const_zemm_primitive_t, zemm_stream_t, int, const zemm_exec_arg_t *);
zemm_status_t dnnl_primitive_desc_query(const_zemm_primitive_desc_t, zemm_query_t, int, void *);
const_zemm_memory_desc_t dnnl_primitive_desc_query_md(const_zemm_primitive_desc_t, zemm_query_t, int);
}

struct dnnl_primitive_desc;
struct dnnl_primitive;
int dnnl_test_is_pd_in_cache(const dnnl_primitive_desc *);
int dnnl_test_is_primitive_in_cache(const dnnl_primitive *);
zemm_status_t dnnl_test_get_primitive_cache_size(int *);
size_t dnnl_test_set_primitive_cache_capacity_without_clearing(size_t);
