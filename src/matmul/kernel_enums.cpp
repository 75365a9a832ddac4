// SPDX-License-Identifier: Apache-2.0
// The kernels cannot include the public header: the numbers of their lists are compared with it here.
#include "common/attr_ops.hpp"
#include "kernels/alg_kind.h"
#include "kernels/matmul_args.h"
#include "zemm/zemm_types.h"

#define ZEMM_TYPE(name, NAME, number, bits) static_assert(zemm_##name == number);
#define ZEMM_COPIED_TYPE(name, number, bits, kind) static_assert(zemm_##name == number);
#define ZEMM_NO_ELEMENT(name, number, bits, text) static_assert(zemm_##name == number);
#include "kernels/types.def"

#define SAME(kernel_name, public_name) static_assert((int)kernel_name == (int)public_name)

SAME(ALG_RELU, zemm_eltwise_relu);
SAME(ALG_TANH, zemm_eltwise_tanh);
SAME(ALG_ELU, zemm_eltwise_elu);
SAME(ALG_SQUARE, zemm_eltwise_square);
SAME(ALG_ABS, zemm_eltwise_abs);
SAME(ALG_SQRT, zemm_eltwise_sqrt);
SAME(ALG_LINEAR, zemm_eltwise_linear);
SAME(ALG_SOFT_RELU, zemm_eltwise_soft_relu);
SAME(ALG_HARDSIGMOID, zemm_eltwise_hardsigmoid);
SAME(ALG_LOGISTIC, zemm_eltwise_logistic);
SAME(ALG_EXP, zemm_eltwise_exp);
SAME(ALG_GELU_TANH, zemm_eltwise_gelu_tanh);
SAME(ALG_SWISH, zemm_eltwise_swish);
SAME(ALG_LOG, zemm_eltwise_log);
SAME(ALG_CLIP, zemm_eltwise_clip);
SAME(ALG_CLIP_V2, zemm_eltwise_clip_v2);
SAME(ALG_POW, zemm_eltwise_pow);
SAME(ALG_GELU_ERF, zemm_eltwise_gelu_erf);
SAME(ALG_ROUND, zemm_eltwise_round);
SAME(ALG_MISH, zemm_eltwise_mish);
SAME(ALG_HARDSWISH, zemm_eltwise_hardswish);
SAME(ALG_RELU_DST, zemm_eltwise_relu_use_dst_for_bwd);
SAME(ALG_TANH_DST, zemm_eltwise_tanh_use_dst_for_bwd);
SAME(ALG_ELU_DST, zemm_eltwise_elu_use_dst_for_bwd);
SAME(ALG_SQRT_DST, zemm_eltwise_sqrt_use_dst_for_bwd);
SAME(ALG_LOGISTIC_DST, zemm_eltwise_logistic_use_dst_for_bwd);
SAME(ALG_EXP_DST, zemm_eltwise_exp_use_dst_for_bwd);
SAME(ALG_CLIP_V2_DST, zemm_eltwise_clip_v2_use_dst_for_bwd);
SAME(ALG_ADD, zemm_binary_add);
SAME(ALG_MUL, zemm_binary_mul);
SAME(ALG_MAX, zemm_binary_max);
SAME(ALG_MIN, zemm_binary_min);
SAME(ALG_DIV, zemm_binary_div);
SAME(ALG_SUB, zemm_binary_sub);
SAME(ALG_GE, zemm_binary_ge);
SAME(ALG_GT, zemm_binary_gt);
SAME(ALG_LE, zemm_binary_le);
SAME(ALG_LT, zemm_binary_lt);
SAME(ALG_EQ, zemm_binary_eq);
SAME(ALG_NE, zemm_binary_ne);
SAME(ALG_SELECT, zemm_binary_select);

static_assert(MATMUL_MAX_POST_OPS == zemm::post_ops_limit);

// Layouts that OpenCL C gives the same structs.
static_assert(MATMUL_MAX_BATCH_NDIMS == ZEMM_MAX_NDIMS - 2);
static_assert(sizeof(zemm::kernels::tensor_arg) == 8 * 15 + 8);
static_assert(sizeof(zemm::kernels::post_op_arg) == 16 + 2 * sizeof(zemm::kernels::tensor_arg));
static_assert(sizeof(zemm::kernels::matmul_arguments) == 8 * (9 + 64) + 24);
