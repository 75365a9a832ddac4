/* SPDX-License-Identifier: Apache-2.0 */
/* Types and constants of the zemm C API.
 *
 * Every enum, constant and struct has the meaning and the numeric value that oneDNN 3.14 gives to
 * the same name with the prefix dnnl_ or DNNL_, so that a oneDNN program ports by renaming. */
#ifndef ZEMM_TYPES_H
#define ZEMM_TYPES_H

#include <stddef.h>
#include <stdint.h>

#include "zemm_format_tags.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The result of every function that can fail; zemm_last_error() explains the failure. */
typedef enum {
    zemm_success = 0,           /* done */
    zemm_out_of_memory = 1,     /* no memory on the host or the device */
    zemm_invalid_arguments = 2, /* the caller is wrong */
    zemm_unimplemented = 3,     /* a valid request that the library has no implementation for */
    zemm_last_impl_reached = 4, /* zemm_primitive_desc_next_impl: no further implementation */
    zemm_runtime_error = 5,     /* the device, its driver or a missing library failed */
    zemm_not_required = 6,
    zemm_invalid_graph = 7,
    zemm_invalid_graph_op = 8,
    zemm_invalid_shape = 9,
    zemm_invalid_data_type = 10
} zemm_status_t;

/* The type of the elements of a tensor. */
typedef enum {
    zemm_data_type_undef = 0,
    zemm_f16 = 1,      /* IEEE binary16 */
    zemm_bf16 = 2,     /* upper half of binary32 */
    zemm_f32 = 3,      /* IEEE binary32 */
    zemm_s32 = 4,      /* int32_t */
    zemm_s8 = 5,       /* int8_t */
    zemm_u8 = 6,       /* uint8_t */
    zemm_f64 = 7,      /* IEEE binary64 */
    zemm_boolean = 8,  /* not accepted in memory descriptors */
    zemm_f8_e5m2 = 9,  /* OCP 8-bit float, 5 exponent bits */
    zemm_f8_e4m3 = 10, /* OCP 8-bit float, 4 exponent bits */
    zemm_s4 = 11,      /* -8..7, two per byte, the even element in the low nibble */
    zemm_u4 = 12,      /* 0..15, two per byte, the even element in the low nibble */
    zemm_e8m0 = 13,    /* OCP 8-bit power of two: an exponent without sign and mantissa */
    zemm_f4_e2m1 = 14, /* OCP 4-bit float */
    zemm_f4_e3m0 = 15, /* deprecated: rejected in memory descriptors */
    zemm_s64 = 16,     /* int64_t */
    zemm_u2 = 17,      /* 0..3, four per byte, the first in the lowest bits */
    zemm_u3 = 18,      /* 0..7, eight in three bytes, the first in the lowest bits */
    zemm_data_type_max = 0x7fff
} zemm_data_type_t;

/* How a memory descriptor says where the elements lie. */
typedef enum {
    zemm_format_kind_undef = 0,
    zemm_format_kind_any = 1,         /* the library chooses the layout */
    zemm_blocked = 2,                 /* strides, and optionally inner blocks */
    zemm_format_kind_opaque = 3,      /* known to the library only */
    zemm_format_kind_sparse = 4,      /* see zemm_sparse_encoding_t */
    zemm_format_kind_host_scalar = 5, /* one value, kept on the host */
    zemm_format_kind_max = 0x7fff
} zemm_format_kind_t;

/* The kinds of sparse descriptors. */
typedef enum {
    zemm_sparse_encoding_undef = 0,
    zemm_csr = 1,
    zemm_packed = 2,
    zemm_coo = 3,
    zemm_grouped = 4
} zemm_sparse_encoding_t;

/* The kind of a device. */
typedef enum { zemm_any_engine = 0, zemm_cpu = 1, zemm_gpu = 2 } zemm_engine_kind_t;

/* Properties of a stream, which may be or-ed. */
typedef enum {
    zemm_stream_in_order = 1,
    zemm_stream_out_of_order = 2, /* accepted, but work still runs in order of submission */
    zemm_stream_default_flags = zemm_stream_in_order,
    zemm_stream_profiling = 4 /* keep execution times, see zemm_query_profiling_data() */
} zemm_stream_flags_t;

/* What a threadpool calls for each i from 0 to n - 1. */
typedef void (*zemm_work_t)(int i, int n, void *argument);

/* Threads of the program, as in oneDNN's threadpool_iface, whose methods these functions are. They may be
 * called by any thread, and must not throw. parallel_for() calls work(i, n, argument) for each i from 0 to n
 * - 1, in any order and on any threads, and returns when all calls have returned. */
typedef struct {
    int (*get_num_threads)(void *pool); /* the one that calls parallel_for() included */
    void (*parallel_for)(void *pool, int n, zemm_work_t work, void *argument); /* waits for its calls */
    void *pool; /* the first argument of both */
} zemm_threadpool_t;

/* Limits that zemm_engine_measure_peak() measures: operations per second, of which a multiply-add is two, or
 * bytes per second. */
typedef enum {
    zemm_peak_int8 = 0,     /* 8-bit integers, by the widest vectors of the CPU; products are exact */
    zemm_peak_f32 = 1,      /* f32, by vectors */
    zemm_peak_copy = 2,     /* bytes of a copy, those read plus those written */
    zemm_peak_read = 3,     /* bytes of reading */
    zemm_peak_bf16 = 4,     /* bf16, by vectors: AVX512_BF16 */
    zemm_peak_amx_int8 = 5, /* 8-bit integers, by the tiles of AMX */
    zemm_peak_amx_bf16 = 6, /* bf16, by tiles */
    zemm_peak_amx_fp16 = 7, /* f16, by tiles */
    zemm_peak_xmx_int8 = 8, /* 8-bit integers, by DPAS on an Intel GPU */
    zemm_peak_xmx_half = 9, /* f16 and bf16, by DPAS */
    zemm_peak_xmx_tf32 = 10 /* tf32, by DPAS */
} zemm_peak_t;

/* Kinds of data that zemm_query_profiling_data() writes. */
typedef enum {
    zemm_profiling_data_kind_undef = 0,
    zemm_profiling_data_kind_time = 1, /* nanoseconds of device time, one for each execution */
    zemm_profiling_data_kind_cycles = 2
} zemm_profiling_data_kind_t;

/* The least precise type that f32 values may be converted to before they are multiplied. */
typedef enum {
    zemm_fpmath_mode_strict = 0,
    zemm_fpmath_mode_bf16 = 1,
    zemm_fpmath_mode_f16 = 2,
    zemm_fpmath_mode_any = 3,
    zemm_fpmath_mode_tf32 = 4
} zemm_fpmath_mode_t;

/* The type that sums may have. */
typedef enum {
    zemm_accumulation_mode_strict = 0,
    zemm_accumulation_mode_relaxed = 1,
    zemm_accumulation_mode_any = 2,
    zemm_accumulation_mode_s32 = 3,
    zemm_accumulation_mode_f32 = 4,
    zemm_accumulation_mode_f16 = 5
} zemm_accumulation_mode_t;

/* Who provides the scratchpad of a primitive. */
typedef enum { zemm_scratchpad_mode_library = 0, zemm_scratchpad_mode_user = 1 } zemm_scratchpad_mode_t;

/* How values are rounded: to the nearest (even in a tie), or up or down at random. */
typedef enum { zemm_rounding_mode_environment = 0, zemm_rounding_mode_stochastic = 1 } zemm_rounding_mode_t;

/* Who computes scales: the caller (static), or the primitive that writes the tensor (dynamic). A matmul
 * writes those of an f8 or f4 dst: with dynamic_mx e8m0 for groups of 1x32 (OCP MX), with dynamic_fp
 * f8_e4m3 for groups of 1x16 (NVFP4). */
typedef enum {
    zemm_quantization_mode_undef = 0,
    zemm_quantization_mode_static_sazp = 1,
    zemm_quantization_mode_dynamic_mx = 2,
    zemm_quantization_mode_dynamic_fp = 3
} zemm_quantization_mode_t;

/* oneDNN's kinds of propagation. An inner product has the two forward ones, which compute the same. */
typedef enum {
    zemm_prop_kind_undef = 0,
    zemm_forward_training = 64,
    zemm_forward = zemm_forward_training,
    zemm_forward_inference = 96,
    zemm_backward = 128,
    zemm_backward_data = 160,
    zemm_backward_weights = 192,
    zemm_backward_bias = 193
} zemm_prop_kind_t;

/* oneDNN's primitives. Those of zemm are matmul, reorder, inner_product and dynamic_quantize; sum, eltwise,
 * binary and prelu are post-ops. */
typedef enum {
    zemm_undefined_primitive = 0,
    zemm_reorder = 1,
    zemm_shuffle = 2,
    zemm_concat = 3,
    zemm_sum = 4,
    zemm_convolution = 5,
    zemm_deconvolution = 6,
    zemm_eltwise = 7,
    zemm_lrn = 8,
    zemm_batch_normalization = 9,
    zemm_inner_product = 10,
    zemm_rnn = 11,
    zemm_gemm = 12,
    zemm_binary = 13,
    zemm_matmul = 14,
    zemm_resampling = 15,
    zemm_pooling = 16,
    zemm_reduction = 17,
    zemm_prelu = 18,
    zemm_softmax = 19,
    zemm_layer_normalization = 20,
    zemm_group_normalization = 21,
    zemm_dynamic_quantize = 0x7f00, /* an experimental extension of zemm: oneDNN's draft has no value yet */
    zemm_primitive_kind_max = 0x7fff
} zemm_primitive_kind_t;

/* The algorithms of post-ops, and of other primitives of oneDNN. */
typedef enum {
    zemm_alg_kind_undef = 0,
    zemm_eltwise_relu = 0x20,
    zemm_eltwise_tanh = 0x21,
    zemm_eltwise_elu = 0x22,
    zemm_eltwise_square = 0x23,
    zemm_eltwise_abs = 0x24,
    zemm_eltwise_sqrt = 0x25,
    zemm_eltwise_linear = 0x26,
    zemm_eltwise_soft_relu = 0x27,
    zemm_eltwise_hardsigmoid = 0x28,
    zemm_eltwise_logistic = 0x29,
    zemm_eltwise_exp = 0x2a,
    zemm_eltwise_gelu_tanh = 0x2b,
    zemm_eltwise_swish = 0x2c,
    zemm_eltwise_log = 0x2d,
    zemm_eltwise_clip = 0x2e,
    zemm_eltwise_clip_v2 = 0x2f,
    zemm_eltwise_pow = 0x30,
    zemm_eltwise_gelu_erf = 0x31,
    zemm_eltwise_round = 0x32,
    zemm_eltwise_mish = 0x33,
    zemm_eltwise_hardswish = 0x34,
    zemm_eltwise_relu_use_dst_for_bwd = 0x100,
    zemm_eltwise_tanh_use_dst_for_bwd = 0x101,
    zemm_eltwise_elu_use_dst_for_bwd = 0x102,
    zemm_eltwise_sqrt_use_dst_for_bwd = 0x103,
    zemm_eltwise_logistic_use_dst_for_bwd = 0x104,
    zemm_eltwise_exp_use_dst_for_bwd = 0x105,
    zemm_eltwise_clip_v2_use_dst_for_bwd = 0x106,
    zemm_binary_add = 0x1fff0,
    zemm_binary_mul = 0x1fff1,
    zemm_binary_max = 0x1fff2,
    zemm_binary_min = 0x1fff3,
    zemm_binary_div = 0x1fff4,
    zemm_binary_sub = 0x1fff5,
    zemm_binary_ge = 0x1fff6,
    zemm_binary_gt = 0x1fff7,
    zemm_binary_le = 0x1fff8,
    zemm_binary_lt = 0x1fff9,
    zemm_binary_eq = 0x1fffa,
    zemm_binary_ne = 0x1fffb,
    zemm_binary_select = 0x1fffc,
    zemm_binary_mul_inplace = 0x1fffd,
    zemm_reduction_max = 0x2fff2,
    zemm_reduction_min = 0x2fff3,
    zemm_reduction_sum = 0x2fff4,
    zemm_reduction_mul = 0x2fff5,
    zemm_reduction_mean = 0x2fff6,
    zemm_reduction_norm_lp_max = 0x2fff7,
    zemm_reduction_norm_lp_sum = 0x2fff8,
    zemm_reduction_norm_lp_power_p_max = 0x2fff9,
    zemm_reduction_norm_lp_power_p_sum = 0x2fffa,
    zemm_softmax_accurate = 0x30000,
    zemm_softmax_log = 0x30001,
    /* experimental extensions of zemm: oneDNN's draft has no values yet */
    zemm_dynamic_quantize_symmetric = 0x6fff0,
    zemm_dynamic_quantize_asymmetric = 0x6fff1
} zemm_alg_kind_t;

/* Questions for the query functions. The comment beside a name is the type of *result; for
 * names that end in _md it is const_zemm_memory_desc_t. Arrays are answered with a pointer into the
 * descriptor, which is valid as long as the descriptor lives. Other queries are unimplemented. */
typedef enum {
    zemm_query_undef = 0,
    zemm_query_engine = 1,             /* zemm_engine_t */
    zemm_query_primitive_kind = 2,     /* zemm_primitive_kind_t */
    zemm_query_num_of_inputs_s32 = 3,  /* int */
    zemm_query_num_of_outputs_s32 = 4, /* int */
    zemm_query_time_estimate_f64 = 5,
    zemm_query_memory_consumption_s64 = 6, /* int64_t, bytes of the library's scratchpad */
    zemm_query_scratchpad_engine = 7,      /* zemm_engine_t */
    zemm_query_impl_info_str = 8,          /* const char * */
    zemm_query_reorder_src_engine = 9,     /* zemm_engine_t */
    zemm_query_reorder_dst_engine = 10,    /* zemm_engine_t */
    zemm_query_prop_kind = 11,
    zemm_query_cache_blob_id_size_s64 = 12, /* int64_t, bytes of the id */
    zemm_query_cache_blob_id = 13,          /* const uint8_t *, until zemm_primitive_desc_next_impl() */
    zemm_query_strides = 14,                /* zemm_dims_t *, elements, of a memory descriptor */
    zemm_query_dilations = 15,
    zemm_query_padding_l = 16,
    zemm_query_padding_r = 17,
    zemm_query_epsilon_f32 = 18,
    zemm_query_flags = 19,
    zemm_query_alg_kind = 20,
    zemm_query_alpha_f32 = 21,
    zemm_query_beta_f32 = 22,
    zemm_query_axis_s32 = 23,
    zemm_query_local_size_s64 = 24,
    zemm_query_k_f32 = 25,
    zemm_query_p_f32 = 26,
    zemm_query_factors = 27,
    zemm_query_cell_kind = 28,
    zemm_query_direction = 29,
    zemm_query_activation_kind = 30,
    zemm_query_kernel = 31,
    zemm_query_group_size_s64 = 32,
    zemm_query_some_md = 128,
    zemm_query_src_md = 129,
    zemm_query_diff_src_md = 130,
    zemm_query_weights_md = 131, /* index 0: weights, 1: bias */
    zemm_query_diff_weights_md = 132,
    zemm_query_dst_md = 133,
    zemm_query_diff_dst_md = 134,
    zemm_query_workspace_md = 135,
    zemm_query_scratchpad_md = 136,
    zemm_query_exec_arg_md = 255,          /* the argument whose ZEMM_ARG_... is the index */
    zemm_query_ndims_s32 = 256,            /* int */
    zemm_query_dims = 257,                 /* zemm_dims_t * */
    zemm_query_data_type = 258,            /* zemm_data_type_t */
    zemm_query_submemory_offset_s64 = 259, /* int64_t, elements before the first one */
    zemm_query_padded_dims = 260,          /* zemm_dims_t * */
    zemm_query_padded_offsets = 261,       /* zemm_dims_t * */
    zemm_query_format_kind = 262,          /* zemm_format_kind_t */
    zemm_query_inner_nblks_s32 = 263,      /* int */
    zemm_query_inner_blks = 264,           /* zemm_dims_t * */
    zemm_query_inner_idxs = 265,           /* zemm_dims_t * */
    zemm_query_sparse_encoding = 266,      /* zemm_sparse_encoding_t */
    zemm_query_nnz_s64 = 267,              /* int64_t */
    zemm_query_num_handles_s32 = 268,      /* int */
    zemm_query_max = 0x7fff
} zemm_query_t;

/* The most dimensions that a tensor has. */
#define ZEMM_MAX_NDIMS 12
/* Placeholders for values that are known at execution only. */
#define ZEMM_RUNTIME_DIM_VAL INT64_MIN
#define ZEMM_RUNTIME_SIZE_VAL ((size_t)ZEMM_RUNTIME_DIM_VAL)
#define ZEMM_RUNTIME_S32_VAL INT32_MIN
/* The placeholder for a float that is known at execution only: a quiet NaN with the bits
 * 0x7fc000d0. */
static const union {
    unsigned u;
    float f;
} zemm_runtime_f32_val_rep = {0x7fc000d0};
#define ZEMM_RUNTIME_F32_VAL (zemm_runtime_f32_val_rep.f)

/* Handles: no buffer; a buffer that the library allocates. */
#define ZEMM_MEMORY_NONE (NULL)
#define ZEMM_MEMORY_ALLOCATE ((void *)(size_t)-1)

/* Arguments of an execution. An ATTR constant is or-ed with the argument that the attribute belongs
 * to: scales of weights are ZEMM_ARG_ATTR_SCALES | ZEMM_ARG_WEIGHTS. */
#define ZEMM_ARG_UNDEF 0
#define ZEMM_ARG_SRC 1
#define ZEMM_ARG_SRC_0 ZEMM_ARG_SRC
#define ZEMM_ARG_FROM ZEMM_ARG_SRC
#define ZEMM_ARG_SRC_1 2
#define ZEMM_ARG_SRC_2 3
#define ZEMM_ARG_SRC_3 4
#define ZEMM_ARG_DST 17
#define ZEMM_ARG_DST_0 ZEMM_ARG_DST
#define ZEMM_ARG_TO ZEMM_ARG_DST
/* Results of dynamic_quantize beside dst: scales and zero points are DST_1 and DST_2 of oneDNN's draft, the
 * sums of groups (reductions) an extension of zemm. */
#define ZEMM_ARG_DYNAMIC_SCALE 18
#define ZEMM_ARG_DYNAMIC_ZERO_POINT 19
#define ZEMM_ARG_DYNAMIC_REDUCTIONS 20
/* Weights and the other arguments that are read. */
#define ZEMM_ARG_WEIGHTS 33
#define ZEMM_ARG_WEIGHTS_0 ZEMM_ARG_WEIGHTS
#define ZEMM_ARG_WEIGHTS_1 34
#define ZEMM_ARG_WEIGHTS_2 35
#define ZEMM_ARG_WEIGHTS_3 36
#define ZEMM_ARG_BIAS 41
#define ZEMM_ARG_REDUCE 42
#define ZEMM_ARG_WORKSPACE 64
#define ZEMM_ARG_SCRATCHPAD 80
#define ZEMM_ARG_HINT_MAX_GROUP_SIZE 384
#define ZEMM_ARG_ATTR_DROPOUT_OFFSET 507
#define ZEMM_ARG_ATTR_ROUNDING_SEED 508
#define ZEMM_ARG_ATTR_DROPOUT_MASK 509
#define ZEMM_ARG_ATTR_DROPOUT_PROBABILITY 510
#define ZEMM_ARG_ATTR_DROPOUT_SEED 511
#define ZEMM_ARG_ATTR_PRECOMPUTED_REDUCTIONS 512
#define ZEMM_ARG_MULTIPLE_SRC 1024
#define ZEMM_ARG_MULTIPLE_DST 2048
#define ZEMM_ARG_ATTR_SCALES 4096
#define ZEMM_ARG_ATTR_ZERO_POINTS 8192
#define ZEMM_ARG_ATTR_POST_OP_DW 16384
#define ZEMM_ARG_ATTR_MULTIPLE_POST_OP_BASE 32768
#define ZEMM_ARG_ATTR_MULTIPLE_POST_OP(idx) (ZEMM_ARG_ATTR_MULTIPLE_POST_OP_BASE * ((idx) + 1))
/* Extensions of zemm, behind the numbers of all post-ops. */
#define ZEMM_ARG_ATTR_OFFSETS 2097152
#define ZEMM_ARG_ATTR_SCALE_FACTORS 4194304
#define ZEMM_ARG_ATTR_OFFSET_FACTORS 8388608

/* Runtimes of engines. zemm's is Level Zero. */
#define ZEMM_RUNTIME_NONE 0u
#define ZEMM_RUNTIME_SEQ 1u
#define ZEMM_RUNTIME_OMP 2u
#define ZEMM_RUNTIME_TBB 4u
#define ZEMM_RUNTIME_THREADPOOL 8u
#define ZEMM_RUNTIME_OCL 256u
#define ZEMM_RUNTIME_SYCL 512u
#define ZEMM_RUNTIME_ZE 1024u

/* A size, stride or offset, in elements, and one for each dimension. */
typedef int64_t zemm_dim_t;
typedef zemm_dim_t zemm_dims_t[ZEMM_MAX_NDIMS];

/* The objects of the library, by handles. Each has functions to create and destroy it. */
typedef struct zemm_engine *zemm_engine_t;
typedef struct zemm_stream *zemm_stream_t;
typedef struct zemm_memory_desc *zemm_memory_desc_t;
typedef const struct zemm_memory_desc *const_zemm_memory_desc_t;
typedef struct zemm_memory *zemm_memory_t;
typedef const struct zemm_memory *const_zemm_memory_t;
typedef struct zemm_post_ops *zemm_post_ops_t;
typedef const struct zemm_post_ops *const_zemm_post_ops_t;
typedef struct zemm_primitive_attr *zemm_primitive_attr_t;
typedef const struct zemm_primitive_attr *const_zemm_primitive_attr_t;
typedef struct zemm_primitive_desc *zemm_primitive_desc_t;
typedef const struct zemm_primitive_desc *const_zemm_primitive_desc_t;
typedef struct zemm_primitive *zemm_primitive_t;
typedef const struct zemm_primitive *const_zemm_primitive_t;

/* One argument of zemm_primitive_execute(). */
typedef struct {
    int arg;              /* ZEMM_ARG_... */
    zemm_memory_t memory; /* NULL: the entry is ignored */
} zemm_exec_arg_t;

/* The version that zemm_version() returns: major.minor.patch. */
typedef struct {
    int major;            /* changes when programs must be changed */
    int minor;            /* changes when something is added */
    int patch;            /* changes when something is mended */
    const char *hash;     /* revision of the sources, or "N/A" */
    unsigned cpu_runtime; /* ZEMM_RUNTIME_... that CPU engines compute with: Level Zero */
    unsigned gpu_runtime; /* the same of GPU engines */
} zemm_version_t;

#ifdef __cplusplus
}
#endif

#endif
