// SPDX-License-Identifier: Apache-2.0
// The names of enum values, without the prefix of the enum; "unknown ..." for a value that the enum
// does not have. Never NULL.
#pragma once

#include "zemm/zemm_types.h"

namespace zemm {

const char *status_name(zemm_status_t v);
const char *data_type_name(zemm_data_type_t v);
const char *format_kind_name(zemm_format_kind_t v);
const char *format_tag_name(zemm_format_tag_t v);
const char *sparse_encoding_name(zemm_sparse_encoding_t v);
const char *engine_kind_name(zemm_engine_kind_t v);
const char *fpmath_mode_name(zemm_fpmath_mode_t v);
const char *accumulation_mode_name(zemm_accumulation_mode_t v);
const char *scratchpad_mode_name(zemm_scratchpad_mode_t v);
const char *rounding_mode_name(zemm_rounding_mode_t v);
const char *quantization_mode_name(zemm_quantization_mode_t v);
const char *prop_kind_name(zemm_prop_kind_t v);
const char *primitive_kind_name(zemm_primitive_kind_t v);
const char *alg_kind_name(zemm_alg_kind_t v);
const char *runtime_name(unsigned v);

// Whether the enum has the value.
bool is_known(zemm_fpmath_mode_t v);
bool is_known(zemm_accumulation_mode_t v);
bool is_known(zemm_scratchpad_mode_t v);
bool is_known(zemm_rounding_mode_t v);
bool is_known(zemm_format_tag_t v);

} // namespace zemm
