// SPDX-License-Identifier: Apache-2.0
// Setters of attributes and functions that append post-ops. If the arguments are wrong, they throw
// invalid_arguments and change nothing.
#pragma once

#include "common/attr.hpp"

namespace zemm {

// The parameters that the setters of quantisation parameters have in common.
struct quant_request {
    int arg;
    int mask;
    int group_ndims;
    const zemm_dim_t *group_dims;
    zemm_data_type_t data_type;
    bool is_on_host = false;
    zemm_quantization_mode_t mode = zemm_quantization_mode_static_sazp;
};

// Setters of the rows of lists/attributes.def that are no flags.
#define ZEMM_TENSOR_ATTRIBUTE(name, ...) void set_##name(zemm_primitive_attr &attr, const quant_request &r);
#define ZEMM_MODE_ATTRIBUTE(name, ...) void set_##name(zemm_primitive_attr &attr, zemm_##name##_t mode);
#define ZEMM_SIZE_ATTRIBUTE(name, ...) void set_##name(zemm_primitive_attr &attr, zemm_dim_t size);
#include "lists/attributes.def"

void set_default_fpmath_mode(zemm_fpmath_mode_t mode);
void set_fpmath_mode(zemm_primitive_attr &attr, zemm_fpmath_mode_t mode, bool apply_to_int);
void set_rounding(zemm_primitive_attr &attr, int arg, zemm_rounding_mode_t mode);
zemm_rounding_mode_t get_rounding(const zemm_primitive_attr &attr, int arg);
void set_reduced_range(zemm_primitive_attr &attr, int arg, bool value);
// mask: NULL or a zero descriptor if no mask is written.
void set_dropout(zemm_primitive_attr &attr, const memory_desc *mask, zemm_data_type_t seed_dt,
                 bool use_offset, bool use_host_scalars);

constexpr size_t post_ops_limit = 32;

void append_sum(zemm_post_ops &list, float scale, int32_t zero_point, zemm_data_type_t dt);
void append_eltwise(zemm_post_ops &list, zemm_alg_kind_t alg, float alpha, float beta);
// src2: NULL or a zero descriptor for all algorithms but select.
void append_binary(zemm_post_ops &list, zemm_alg_kind_t alg, const memory_desc &src1,
                   const memory_desc *src2);
void append_prelu(zemm_post_ops &list, int mask);
// "binary_add:f32:2", as in the verbose log.
std::string post_op_text(const post_op &p);
// The entry at index. Throws invalid_arguments if there is none or if it is of another kind.
const post_op &post_op_at(const zemm_post_ops &list, int index, zemm_primitive_kind_t kind);

} // namespace zemm
