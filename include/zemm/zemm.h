/* SPDX-License-Identifier: Apache-2.0 */
/* zemm C API: a oneDNN-style matmul primitive on Level Zero devices.
 *
 * Each function has the name, the order of arguments and the rules of oneDNN 3.14's function with the prefix
 * dnnl_. Every function that returns zemm_status_t leaves its outputs untouched when it fails, and says why
 * in zemm_last_error(). Objects are immutable after creation, except memory handles and attributes; they may
 * be used from several threads, one stream from one thread at a time. */
#ifndef ZEMM_H
#define ZEMM_H

#include "zemm_types.h"

#ifdef __cplusplus
extern "C" {
#endif

#if defined(_WIN32)
#define ZEMM_API
#else
#define ZEMM_API __attribute__((visibility("default")))
#endif

/* ---- Service ---- */

/* The sentence that explains the last failure on the calling thread ("" if there was none). It names the
 * argument and the values. Valid until the next zemm call of the thread. */
const char ZEMM_API *zemm_last_error(void);

const zemm_version_t ZEMM_API *zemm_version(void);

/* 0 silent; 1 errors, warnings and executions; 2 also creations. Anything else: invalid_arguments.
 * The environment variable ZEMM_VERBOSE (comma list: none, error, warn, check, dispatch, profile_create,
 * profile_exec, profile, all, or 0, 1, 2) sets the start value. */
zemm_status_t ZEMM_API zemm_set_verbose(int level);

/* Number of primitives that the process keeps for reuse (least recently used leaves first); 0 turns it off.
 * Environment: ZEMM_PRIMITIVE_CACHE_CAPACITY, default 1024. */
zemm_status_t ZEMM_API zemm_get_primitive_cache_capacity(int *capacity);
zemm_status_t ZEMM_API zemm_set_primitive_cache_capacity(int capacity);

/* The fpmath mode that new attributes start with. Environment: ZEMM_DEFAULT_FPMATH_MODE. */
zemm_status_t ZEMM_API zemm_get_default_fpmath_mode(zemm_fpmath_mode_t *mode);
zemm_status_t ZEMM_API zemm_set_default_fpmath_mode(zemm_fpmath_mode_t mode);

/* Names of enum values without their prefix: "success", "f8_e5m2", "eltwise_relu", ...; "unknown ..."
 * otherwise. */
const char ZEMM_API *zemm_status2str(zemm_status_t v);
const char ZEMM_API *zemm_dt2str(zemm_data_type_t v);
const char ZEMM_API *zemm_fmt_kind2str(zemm_format_kind_t v);
const char ZEMM_API *zemm_fmt_tag2str(zemm_format_tag_t v);
const char ZEMM_API *zemm_sparse_encoding2str(zemm_sparse_encoding_t v);
const char ZEMM_API *zemm_engine_kind2str(zemm_engine_kind_t v);
const char ZEMM_API *zemm_fpmath_mode2str(zemm_fpmath_mode_t v);
const char ZEMM_API *zemm_accumulation_mode2str(zemm_accumulation_mode_t v);
const char ZEMM_API *zemm_scratchpad_mode2str(zemm_scratchpad_mode_t v);
const char ZEMM_API *zemm_rounding_mode2str(zemm_rounding_mode_t v);
const char ZEMM_API *zemm_quantization_mode2str(zemm_quantization_mode_t v);
const char ZEMM_API *zemm_prop_kind2str(zemm_prop_kind_t v);
const char ZEMM_API *zemm_prim_kind2str(zemm_primitive_kind_t v);
const char ZEMM_API *zemm_alg_kind2str(zemm_alg_kind_t v);
const char ZEMM_API *zemm_runtime2str(unsigned v);

/* ---- Engine ---- */

/* Number of devices of a kind; 0 when the loader, the driver or the runtime is missing, or when looking for
 * devices failed: zemm_last_error() then says why, and the next call looks again. */
size_t ZEMM_API zemm_engine_get_count(zemm_engine_kind_t kind);

/* zemm_gpu: the index-th GPU that the Level Zero loader reports. zemm_cpu: a Level Zero device of type CPU,
 * the loader's if it reports one, else that of the libze_cpu.so beside this library. invalid_arguments:
 * engine NULL, unknown kind, index past the count; where the count is 0 the sentence
 * says what is missing. out_of_memory, runtime_error: the driver failed; the next call tries again. */
zemm_status_t ZEMM_API zemm_engine_create(zemm_engine_t *engine, zemm_engine_kind_t kind, size_t index);
zemm_status_t ZEMM_API zemm_engine_get_kind(zemm_engine_t engine, zemm_engine_kind_t *kind);
/* The device's name, as its driver has it. The text lives as long as the engine. */
zemm_status_t ZEMM_API zemm_engine_get_name(zemm_engine_t engine, const char **name);
/* What the device can run beyond the baseline, less what ZEMM_DEVICE_MASK hides, separated by commas: of
 * avx2, avx_vnni (vpdpbusd on 256 bits), avx512, avx512_vnni, dp4a, and xmx (DPAS), block_2d (2-D block
 * loads), tf32, which the CPU device has in software. The text lives as long as the engine. */
zemm_status_t ZEMM_API zemm_engine_get_features(zemm_engine_t engine, const char **features);
/* What a GPU is made of, as "family=xe_hpc,name=Xe-HPC,ip=12.60,xe_cores=8,xves_per_core=8,sub_group=16,...";
 * further keys, each only where it applies and is known: xmx_int8_ops and xmx_f16_ops (per clock and XVE),
 * grf_bytes (of a register), threads_128 and threads_256 (of an XVE, by registers of a thread), slm_per_core,
 * slm_per_group, l1_per_core, l2_bytes, clock_mhz. family: unknown, older, xe_lp, xe_hpg, xe_hpc, xe2, xe3.
 * "" for a CPU. ZEMM_DEVICE_MASK changes nothing here. The text lives as long as the engine. */
zemm_status_t ZEMM_API zemm_engine_get_model(zemm_engine_t engine, const char **model);
/* What the device can do at most, measured on it now, by kernels that do nothing else (best of several runs
 * by its timestamps; well below a second): operations or bytes per second. Keep the device idle meanwhile.
 * unimplemented: the device lacks what the kernel is made of (int8: a CPU with AVX512-VNNI; all: a CPU). */
zemm_status_t ZEMM_API zemm_engine_measure_peak(zemm_engine_t engine, zemm_peak_t what, double *value);
/* What was made on the engine stays usable, and may be destroyed later, in any order. */
zemm_status_t ZEMM_API zemm_engine_destroy(zemm_engine_t engine);

/* ---- Stream ---- */

/* flags: zemm_stream_flags_t or-ed. in_order and out_of_order together: invalid_arguments. */
zemm_status_t ZEMM_API zemm_stream_create(zemm_stream_t *stream, zemm_engine_t engine, unsigned flags);
zemm_status_t ZEMM_API zemm_stream_get_engine(const struct zemm_stream *stream, zemm_engine_t *engine);
/* Returns when everything submitted to the stream has run. A cancellation point: pthread_cancel() may end the
 * thread here, and then nothing of the library is half done. In other functions it is put off. */
zemm_status_t ZEMM_API zemm_stream_wait(zemm_stream_t stream);
zemm_status_t ZEMM_API zemm_stream_destroy(zemm_stream_t stream);

/* Forgets the times kept so far; the stream must have been created with zemm_stream_profiling. */
zemm_status_t ZEMM_API zemm_reset_profiling(zemm_stream_t stream);
/* Device time of each execution since the last reset, in order of submission, from event timestamps; data
 * NULL: writes only their number. The stream is waited for. runtime_error: the device keeps no timestamps. */
zemm_status_t ZEMM_API zemm_query_profiling_data(zemm_stream_t stream, zemm_profiling_data_kind_t kind,
                                                 int *num_entries, uint64_t *data);

/* ---- Memory descriptor ---- */

/* Dense or strided layout. strides in elements, NULL: dense row-major. ndims 0: a zero descriptor. */
zemm_status_t ZEMM_API zemm_memory_desc_create_with_strides(zemm_memory_desc_t *md, int ndims,
                                                            const zemm_dims_t dims,
                                                            zemm_data_type_t data_type,
                                                            const zemm_dims_t strides);
zemm_status_t ZEMM_API zemm_memory_desc_create_with_tag(zemm_memory_desc_t *md, int ndims,
                                                        const zemm_dims_t dims, zemm_data_type_t data_type,
                                                        zemm_format_tag_t tag);
/* As above for any permutation ("cabde") or blocked layout ("BA16a64b4a") by its string. */
zemm_status_t ZEMM_API zemm_memory_desc_create_with_string_tag(zemm_memory_desc_t *md, int ndims,
                                                               const zemm_dims_t dims,
                                                               zemm_data_type_t data_type, const char *tag);
zemm_status_t ZEMM_API zemm_memory_desc_create_with_csr_encoding(zemm_memory_desc_t *md, int ndims,
                                                                 const zemm_dims_t dims,
                                                                 zemm_data_type_t data_type, zemm_dim_t nnz,
                                                                 zemm_data_type_t indices_dt,
                                                                 zemm_data_type_t pointers_dt);
zemm_status_t ZEMM_API zemm_memory_desc_create_with_coo_encoding(zemm_memory_desc_t *md, int ndims,
                                                                 const zemm_dims_t dims,
                                                                 zemm_data_type_t data_type, zemm_dim_t nnz,
                                                                 zemm_data_type_t indices_dt);
zemm_status_t ZEMM_API zemm_memory_desc_create_with_packed_encoding(zemm_memory_desc_t *md, int ndims,
                                                                    const zemm_dims_t dims,
                                                                    zemm_data_type_t data_type,
                                                                    zemm_dim_t nnz);
zemm_status_t ZEMM_API zemm_memory_desc_create_with_grouped_encoding(
    zemm_memory_desc_t *md, int ndims, const zemm_dims_t dims, zemm_data_type_t data_type,
    int variable_dim_idx, zemm_dim_t group_count, zemm_data_type_t offsets_dt);
/* One value that zemm_memory_create_host_scalar() keeps on the host. */
zemm_status_t ZEMM_API zemm_memory_desc_create_host_scalar(zemm_memory_desc_t *md,
                                                           zemm_data_type_t data_type);
/* The part of parent that starts at offsets (elements per dimension) and has dims. In a blocked layout
 * offsets are whole blocks, and dims whole blocks, less than one, or all that there is. Of the parent's
 * padding it has what is behind its own elements: other parts have none (padded_dims is dims). */
zemm_status_t ZEMM_API zemm_memory_desc_create_submemory(zemm_memory_desc_t *md,
                                                         const_zemm_memory_desc_t parent,
                                                         const zemm_dims_t dims, const zemm_dims_t offsets);
zemm_status_t ZEMM_API zemm_memory_desc_create_with_blob(zemm_memory_desc_t *md, const uint8_t *blob);
zemm_status_t ZEMM_API zemm_memory_desc_get_blob(uint8_t *blob, size_t *size, const_zemm_memory_desc_t md);
zemm_status_t ZEMM_API zemm_memory_desc_clone(zemm_memory_desc_t *md, const_zemm_memory_desc_t existing);
zemm_status_t ZEMM_API zemm_memory_desc_destroy(zemm_memory_desc_t md);
/* The same bytes seen with other dims of the same volume. */
zemm_status_t ZEMM_API zemm_memory_desc_reshape(zemm_memory_desc_t *out, const_zemm_memory_desc_t in,
                                                int ndims, const zemm_dims_t dims);
/* permutation[i]: the new position of dimension i. */
zemm_status_t ZEMM_API zemm_memory_desc_permute_axes(zemm_memory_desc_t *out, const_zemm_memory_desc_t in,
                                                     const int *permutation);
zemm_status_t ZEMM_API zemm_memory_desc_set_data_type(zemm_memory_desc_t md, zemm_data_type_t data_type);
zemm_status_t ZEMM_API zemm_memory_desc_query(const_zemm_memory_desc_t md, zemm_query_t what, void *result);
zemm_status_t ZEMM_API zemm_memory_desc_query_v2(const_zemm_memory_desc_t md, zemm_query_t what, int index,
                                                 void *result);
/* 1 equal, 0 not. */
int ZEMM_API zemm_memory_desc_equal(const_zemm_memory_desc_t a, const_zemm_memory_desc_t b);
/* Bytes that a buffer needs; 0 for format any or an empty tensor; ZEMM_RUNTIME_SIZE_VAL when not known yet.
 */
size_t ZEMM_API zemm_memory_desc_get_size(const_zemm_memory_desc_t md);
size_t ZEMM_API zemm_memory_desc_get_size_v2(const_zemm_memory_desc_t md, int index);
/* Bytes of one element (4-bit types: 1; undef: 0). */
size_t ZEMM_API zemm_data_type_size(zemm_data_type_t data_type);

/* ---- Memory ---- */

/* handle: a USM pointer of the engine's context (on a CPU device any host pointer), ZEMM_MEMORY_NONE, or
 * ZEMM_MEMORY_ALLOCATE for a buffer that the library owns. The caller keeps its buffer alive. */
zemm_status_t ZEMM_API zemm_memory_create(zemm_memory_t *memory, const_zemm_memory_desc_t md,
                                          zemm_engine_t engine, void *handle);
zemm_status_t ZEMM_API zemm_memory_create_v2(zemm_memory_t *memory, const_zemm_memory_desc_t md,
                                             zemm_engine_t engine, int nhandles, void **handles);
/* value: one element of the descriptor's type; it is copied. */
zemm_status_t ZEMM_API zemm_memory_create_host_scalar(zemm_memory_t *memory, const_zemm_memory_desc_t md,
                                                      void *value);
zemm_status_t ZEMM_API zemm_memory_get_memory_desc(const_zemm_memory_t memory, const_zemm_memory_desc_t *md);
/* NULL for a host scalar. */
zemm_status_t ZEMM_API zemm_memory_get_engine(const_zemm_memory_t memory, zemm_engine_t *engine);
/* A host pointer to the contents; the device must be done with them. Undone by unmap, which writes changes
 * back. */
zemm_status_t ZEMM_API zemm_memory_map_data(const_zemm_memory_t memory, void **mapped_ptr);
zemm_status_t ZEMM_API zemm_memory_unmap_data(const_zemm_memory_t memory, void *mapped_ptr);
zemm_status_t ZEMM_API zemm_memory_map_data_v2(const_zemm_memory_t memory, void **mapped_ptr, int index);
zemm_status_t ZEMM_API zemm_memory_unmap_data_v2(const_zemm_memory_t memory, void *mapped_ptr, int index);
zemm_status_t ZEMM_API zemm_memory_get_data_handle(const_zemm_memory_t memory, void **handle);
zemm_status_t ZEMM_API zemm_memory_set_data_handle(zemm_memory_t memory, void *handle);
zemm_status_t ZEMM_API zemm_memory_get_data_handle_v2(const_zemm_memory_t memory, void **handle, int index);
zemm_status_t ZEMM_API zemm_memory_set_data_handle_v2(zemm_memory_t memory, void *handle, int index);
zemm_status_t ZEMM_API zemm_memory_get_host_scalar_value(const_zemm_memory_t memory, void *value);
zemm_status_t ZEMM_API zemm_memory_set_host_scalar_value(zemm_memory_t memory, const void *value);
/* A buffer of the library's stays until work that was submitted with it has run; so it does when its memory
 * gets another handle. */
zemm_status_t ZEMM_API zemm_memory_destroy(zemm_memory_t memory);

/* ---- Attributes ---- */

zemm_status_t ZEMM_API zemm_primitive_attr_create(zemm_primitive_attr_t *attr);
zemm_status_t ZEMM_API zemm_primitive_attr_clone(zemm_primitive_attr_t *attr,
                                                 const_zemm_primitive_attr_t existing);
zemm_status_t ZEMM_API zemm_primitive_attr_destroy(zemm_primitive_attr_t attr);

zemm_status_t ZEMM_API zemm_primitive_attr_get_fpmath_mode(const_zemm_primitive_attr_t attr,
                                                           zemm_fpmath_mode_t *mode);
zemm_status_t ZEMM_API zemm_primitive_attr_set_fpmath_mode(zemm_primitive_attr_t attr,
                                                           zemm_fpmath_mode_t mode);
zemm_status_t ZEMM_API zemm_primitive_attr_get_fpmath_mode_v2(const_zemm_primitive_attr_t attr,
                                                              zemm_fpmath_mode_t *mode, int *apply_to_int);
/* apply_to_int 1: integer weights of a floating-point matmul are converted to floating point. */
zemm_status_t ZEMM_API zemm_primitive_attr_set_fpmath_mode_v2(zemm_primitive_attr_t attr,
                                                              zemm_fpmath_mode_t mode, int apply_to_int);
zemm_status_t ZEMM_API zemm_primitive_attr_get_deterministic(const_zemm_primitive_attr_t attr, int *value);
zemm_status_t ZEMM_API zemm_primitive_attr_set_deterministic(zemm_primitive_attr_t attr, int value);
zemm_status_t ZEMM_API zemm_primitive_attr_get_accumulation_mode(const_zemm_primitive_attr_t attr,
                                                                 zemm_accumulation_mode_t *mode);
zemm_status_t ZEMM_API zemm_primitive_attr_set_accumulation_mode(zemm_primitive_attr_t attr,
                                                                 zemm_accumulation_mode_t mode);
zemm_status_t ZEMM_API zemm_primitive_attr_get_scratchpad_mode(const_zemm_primitive_attr_t attr,
                                                               zemm_scratchpad_mode_t *mode);
/* user: the scratchpad is an argument. Any address will do for it; its descriptor says how many bytes. */
zemm_status_t ZEMM_API zemm_primitive_attr_set_scratchpad_mode(zemm_primitive_attr_t attr,
                                                               zemm_scratchpad_mode_t mode);
zemm_status_t ZEMM_API zemm_primitive_attr_get_rounding(zemm_primitive_attr_t attr, int arg,
                                                        zemm_rounding_mode_t *mode);
zemm_status_t ZEMM_API zemm_primitive_attr_set_rounding(zemm_primitive_attr_t attr, int arg,
                                                        zemm_rounding_mode_t mode);
zemm_status_t ZEMM_API zemm_primitive_attr_get_dropout(const_zemm_primitive_attr_t attr,
                                                       const_zemm_memory_desc_t *mask_desc);
zemm_status_t ZEMM_API zemm_primitive_attr_set_dropout(zemm_primitive_attr_t attr,
                                                       const_zemm_memory_desc_t mask_desc);
zemm_status_t ZEMM_API zemm_primitive_attr_get_dropout_v2(const_zemm_primitive_attr_t attr,
                                                          const_zemm_memory_desc_t *mask_desc,
                                                          zemm_data_type_t *seed_dt, int *use_offset,
                                                          int *use_host_scalars);
zemm_status_t ZEMM_API zemm_primitive_attr_set_dropout_v2(zemm_primitive_attr_t attr,
                                                          const_zemm_memory_desc_t mask_desc,
                                                          zemm_data_type_t seed_dt, int use_offset,
                                                          int use_host_scalars);

/* Quantisation parameters of an argument. The parameter tensor has the argument's dimension d where bit d of
 * mask is set and 1 elsewhere; group_dims (of the last two dimensions; group_ndims 0 or 2) divide it further.
 * Dense row-major. Data types: scales f32 f16 bf16 e8m0 f8_e4m3; zero points s32 s8 u8 s4 u4. is_on_host: one
 * value in a host scalar memory (mask 0, no groups). Broken rules: invalid_arguments. */
zemm_status_t ZEMM_API zemm_primitive_attr_set_scales_mask(zemm_primitive_attr_t attr, int arg, int mask);
zemm_status_t ZEMM_API zemm_primitive_attr_set_scales(zemm_primitive_attr_t attr, int arg, int mask,
                                                      int group_ndims, const zemm_dims_t group_dims,
                                                      zemm_data_type_t data_type);
zemm_status_t ZEMM_API zemm_primitive_attr_set_scales_v2(zemm_primitive_attr_t attr, int arg, int mask,
                                                         int group_ndims, const zemm_dims_t group_dims,
                                                         zemm_data_type_t data_type, int is_on_host);
zemm_status_t ZEMM_API zemm_primitive_attr_set_scales_v3(zemm_primitive_attr_t attr, int arg, int mask,
                                                         int group_ndims, const zemm_dims_t group_dims,
                                                         zemm_data_type_t data_type, int is_on_host,
                                                         zemm_quantization_mode_t qmode);
zemm_status_t ZEMM_API zemm_primitive_attr_set_zero_points_mask(zemm_primitive_attr_t attr, int arg,
                                                                int mask);
zemm_status_t ZEMM_API zemm_primitive_attr_set_zero_points(zemm_primitive_attr_t attr, int arg, int mask,
                                                           int group_ndims, const zemm_dims_t group_dims,
                                                           zemm_data_type_t data_type);
zemm_status_t ZEMM_API zemm_primitive_attr_set_zero_points_v2(zemm_primitive_attr_t attr, int arg, int mask,
                                                              int group_ndims, const zemm_dims_t group_dims,
                                                              zemm_data_type_t data_type, int is_on_host);

/* Sums of the integer src over groups along K, computed by the caller (who quantised src): with them the
 * weights' zero points cost nothing in the K loop. The memory, argument ZEMM_ARG_ATTR_PRECOMPUTED_REDUCTIONS
 * | ZEMM_ARG_SRC, is s32 [..., M, K / group_dims[1]]. arg: ZEMM_ARG_SRC; data_type: s32; mask: every
 * dimension of src, checked with the rest at descriptor creation: weights zero points are required, and the
 * group divides and does not exceed the other K groups. Source: oneDNN RFC "User's Precomputed Reductions for
 * GeMM". zemm also has arg ZEMM_ARG_DST, for a reorder that quantises: there the sums are an output. */
zemm_status_t ZEMM_API zemm_primitive_attr_set_precomputed_reductions(zemm_primitive_attr_t attr, int arg,
                                                                      int mask, int group_ndims,
                                                                      const zemm_dims_t group_dims,
                                                                      zemm_data_type_t data_type);

zemm_status_t ZEMM_API zemm_primitive_attr_get_post_ops(const_zemm_primitive_attr_t attr,
                                                        const_zemm_post_ops_t *post_ops);
/* Copies the list. */
zemm_status_t ZEMM_API zemm_primitive_attr_set_post_ops(zemm_primitive_attr_t attr,
                                                        const_zemm_post_ops_t post_ops);

/* ---- Post-ops: up to 32, applied in order to the f32 result before the destination's scale
 * ------------------- */

zemm_status_t ZEMM_API zemm_post_ops_create(zemm_post_ops_t *post_ops);
zemm_status_t ZEMM_API zemm_post_ops_clone(zemm_post_ops_t *post_ops, const_zemm_post_ops_t existing);
zemm_status_t ZEMM_API zemm_post_ops_destroy(zemm_post_ops_t post_ops);
int ZEMM_API zemm_post_ops_len(const_zemm_post_ops_t post_ops);
zemm_primitive_kind_t ZEMM_API zemm_post_ops_get_kind(const_zemm_post_ops_t post_ops, int index);
/* x + scale * (old dst - zero_point), the old dst read as data_type (undef: dst's own). */
zemm_status_t ZEMM_API zemm_post_ops_append_sum(zemm_post_ops_t post_ops, float scale, int32_t zero_point,
                                                zemm_data_type_t data_type);
zemm_status_t ZEMM_API zemm_post_ops_get_params_sum(const_zemm_post_ops_t post_ops, int index, float *scale,
                                                    int32_t *zero_point, zemm_data_type_t *data_type);
/* oneDNN's formulas, with a NaN as well: clip makes alpha of it, logistic 0, pow with beta 0 alpha, all
 * others NaN. */
zemm_status_t ZEMM_API zemm_post_ops_append_eltwise(zemm_post_ops_t post_ops, zemm_alg_kind_t alg,
                                                    float alpha, float beta);
zemm_status_t ZEMM_API zemm_post_ops_get_params_eltwise(const_zemm_post_ops_t post_ops, int index,
                                                        zemm_alg_kind_t *alg, float *alpha, float *beta);
zemm_status_t ZEMM_API zemm_post_ops_append_dw(zemm_post_ops_t post_ops, zemm_data_type_t weights_dt,
                                               zemm_data_type_t bias_dt, zemm_data_type_t dst_dt,
                                               zemm_dim_t kernel, zemm_dim_t stride, zemm_dim_t padding_l);
zemm_status_t ZEMM_API zemm_post_ops_get_params_dw(const_zemm_post_ops_t post_ops, int index,
                                                   zemm_data_type_t *weights_dt, zemm_data_type_t *bias_dt,
                                                   zemm_data_type_t *dst_dt, zemm_dim_t *kernel,
                                                   zemm_dim_t *stride, zemm_dim_t *padding_l);
/* src1: each dimension is dst's or 1. Argument: ZEMM_ARG_ATTR_MULTIPLE_POST_OP(index) | ZEMM_ARG_SRC_1. max
 * and min are x where it is greater, or less, than src1, else src1: where either is a NaN, too. */
zemm_status_t ZEMM_API zemm_post_ops_append_binary(zemm_post_ops_t post_ops, zemm_alg_kind_t alg,
                                                   const_zemm_memory_desc_t src1_desc);
zemm_status_t ZEMM_API zemm_post_ops_get_params_binary(const_zemm_post_ops_t post_ops, int index,
                                                       zemm_alg_kind_t *alg,
                                                       const_zemm_memory_desc_t *src1_desc);
/* src2: the s8 or u8 condition of binary_select (src2 != 0 ? x : src1), argument ... | ZEMM_ARG_SRC_2. */
zemm_status_t ZEMM_API zemm_post_ops_append_binary_v2(zemm_post_ops_t post_ops, zemm_alg_kind_t alg,
                                                      const_zemm_memory_desc_t src1_desc,
                                                      const_zemm_memory_desc_t src2_desc);
zemm_status_t ZEMM_API zemm_post_ops_get_params_binary_v2(const_zemm_post_ops_t post_ops, int index,
                                                          zemm_alg_kind_t *alg,
                                                          const_zemm_memory_desc_t *src1_desc,
                                                          const_zemm_memory_desc_t *src2_desc);
/* f32 slopes with dst's dimensions where mask has a bit and 1 elsewhere, argument ... | ZEMM_ARG_WEIGHTS. */
zemm_status_t ZEMM_API zemm_post_ops_append_prelu(zemm_post_ops_t post_ops, int mask);
zemm_status_t ZEMM_API zemm_post_ops_get_params_prelu(const_zemm_post_ops_t post_ops, int index, int *mask);

/* ---- Primitive descriptor and primitive ---- */

/* dst[.., m, n] = sum over k of src[.., m, k] * weights[.., k, n], with bias (NULL: none) and the attributes'
 * scales, zero points and post-ops; leading dimensions are batch dimensions and broadcast. Groups along K may
 * have any size that divides K, another for each parameter; those along N are multiples of 16.
 * s8 and u8 src: sums of products are exact, and rounded to f32 once, if zero points are values of their
 * tensor's type. With scales along K this is done for each group (on Intel GPUs for parts of one), and these
 * are added in f32. Only with an s32 dst and no scales, bias, post-ops and zero points of dst sums are the
 * result, modulo 2^32: for any values that is the sum of up to 33025 elements of K of u8 by u8, 131071 of s8
 * by s8.
 * invalid_arguments: shapes or types that make no matmul; unimplemented: attributes or layouts that no
 * implementation takes. */
zemm_status_t ZEMM_API zemm_matmul_primitive_desc_create(zemm_primitive_desc_t *pd, zemm_engine_t engine,
                                                         const_zemm_memory_desc_t src_desc,
                                                         const_zemm_memory_desc_t weights_desc,
                                                         const_zemm_memory_desc_t bias_desc,
                                                         const_zemm_memory_desc_t dst_desc,
                                                         const_zemm_primitive_attr_t attr);
/* dst = (src_scale * (src - src_zp) + sum_scale * (dst - dst_zp)) / dst_scale + dst_zp, from any layout and
 * type to any other, rounded to nearest even, integers saturated; the padding of a blocked dst becomes 0.
 * Arguments ZEMM_ARG_FROM and ZEMM_ARG_TO; both engines are of one device.
 * Scales of dst with quantization mode dynamic_fp, a mask of all dimensions and groups 1xG are outputs
 * (zemm's own extension): f32, f16 or bf16 rows with stride 1 become s8 with scale amax / 127, or u8 with
 * scale (max - min) / 255 and s32 zero points of dst (same mask, no groups of their own). Precomputed
 * reductions of dst, groups 1xR, are then the sums of the s8 or u8 values. invalid_arguments: descriptors or
 * attributes that make no reorder; unimplemented: what zemm does not have. */
zemm_status_t ZEMM_API zemm_reorder_primitive_desc_create(zemm_primitive_desc_t *reorder_primitive_desc,
                                                          const_zemm_memory_desc_t src_desc,
                                                          zemm_engine_t src_engine,
                                                          const_zemm_memory_desc_t dst_desc,
                                                          zemm_engine_t dst_engine,
                                                          const_zemm_primitive_attr_t attr);

/* Moves on to the next implementation; last_impl_reached (and no change) at the end. */
zemm_status_t ZEMM_API zemm_primitive_desc_next_impl(zemm_primitive_desc_t pd);
zemm_status_t ZEMM_API zemm_primitive_desc_clone(zemm_primitive_desc_t *pd,
                                                 const_zemm_primitive_desc_t existing);
zemm_status_t ZEMM_API zemm_primitive_desc_get_attr(const_zemm_primitive_desc_t pd,
                                                    const_zemm_primitive_attr_t *attr);
zemm_status_t ZEMM_API zemm_primitive_desc_destroy(zemm_primitive_desc_t pd);
zemm_status_t ZEMM_API zemm_primitive_desc_query(const_zemm_primitive_desc_t pd, zemm_query_t what, int index,
                                                 void *result);
/* Owned by pd. NULL on error; a zero descriptor where the query does not apply. */
const_zemm_memory_desc_t ZEMM_API zemm_primitive_desc_query_md(const_zemm_primitive_desc_t pd,
                                                               zemm_query_t what, int index);
int ZEMM_API zemm_primitive_desc_query_s32(const_zemm_primitive_desc_t pd, zemm_query_t what, int index);

zemm_status_t ZEMM_API zemm_primitive_create(zemm_primitive_t *primitive, const_zemm_primitive_desc_t pd);
zemm_status_t ZEMM_API zemm_primitive_create_from_cache_blob(zemm_primitive_t *primitive,
                                                             const_zemm_primitive_desc_t pd, size_t size,
                                                             const uint8_t *cache_blob);
/* unimplemented: the engine keeps no persistent cache. */
zemm_status_t ZEMM_API zemm_primitive_get_cache_blob(const_zemm_primitive_t primitive, size_t *size,
                                                     uint8_t *cache_blob);
zemm_status_t ZEMM_API zemm_primitive_get_primitive_desc(const_zemm_primitive_t primitive,
                                                         const_zemm_primitive_desc_t *pd);
/* Submits the work; zemm_stream_wait() says when it is done. All arguments are checked before anything is
 * submitted, so that dst is not written when this fails. */
zemm_status_t ZEMM_API zemm_primitive_execute(const_zemm_primitive_t primitive, zemm_stream_t stream,
                                              int nargs, const zemm_exec_arg_t *args);
zemm_status_t ZEMM_API zemm_primitive_destroy(zemm_primitive_t primitive);

#ifdef __cplusplus
}
#endif

#endif
