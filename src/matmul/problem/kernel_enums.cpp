// SPDX-License-Identifier: Apache-2.0
// Compares the numbers in the kernels' lists and structs with those of the public header, which
// kernels cannot include.
#include "common/attr.hpp"
#include "kernels/args/matmul_args.h"
#include "zemm/zemm_types.h"

#define ZEMM_TYPE(name, NAME, number, bits) static_assert(zemm_##name == number);
#define ZEMM_COPIED_TYPE(name, number, bits, kind) static_assert(zemm_##name == number);
#define ZEMM_NO_ELEMENT(name, number, bits, text) static_assert(zemm_##name == number);
#include "lists/types.def"

#define ZEMM_ELTWISE(name, number, formula) static_assert(zemm_eltwise_##name == number);
#define ZEMM_ELTWISE_SAME(name, number) static_assert(zemm_eltwise_##name == number);
#define ZEMM_BINARY(name, number, formula) static_assert(zemm_binary_##name == number);
#define ZEMM_TERNARY(name, number, formula) static_assert(zemm_binary_##name == number);
#define ZEMM_IN_PLACE(name, number, of) static_assert(zemm_binary_##name == number);
#include "lists/algs.def"

static_assert(MATMUL_MAX_POST_OPS == zemm::post_ops_limit);

// The sizes that OpenCL C gives these structs.
static_assert(MATMUL_MAX_BATCH_NDIMS == ZEMM_MAX_NDIMS - 2);
static_assert(sizeof(zemm::kernels::tensor_arg) == 8 * 15 + 8);
static_assert(sizeof(zemm::kernels::post_op_arg) == 16 + 2 * sizeof(zemm::kernels::tensor_arg));
static_assert(sizeof(zemm::kernels::matmul_arguments) == 8 * (12 + 64) + 24);
static_assert(sizeof(zemm::kernels::group_part) == 12);
