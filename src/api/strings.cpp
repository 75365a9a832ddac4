// SPDX-License-Identifier: Apache-2.0
// Entry points that give the names of enum values.
#include "common/names.hpp"
#include "zemm/zemm.h"

using namespace zemm;

const char *zemm_status2str(zemm_status_t v) {
    return status_name(v);
}
const char *zemm_dt2str(zemm_data_type_t v) {
    return data_type_name(v);
}
const char *zemm_fmt_kind2str(zemm_format_kind_t v) {
    return format_kind_name(v);
}
const char *zemm_fmt_tag2str(zemm_format_tag_t v) {
    return format_tag_name(v);
}
const char *zemm_sparse_encoding2str(zemm_sparse_encoding_t v) {
    return sparse_encoding_name(v);
}
const char *zemm_engine_kind2str(zemm_engine_kind_t v) {
    return engine_kind_name(v);
}
const char *zemm_fpmath_mode2str(zemm_fpmath_mode_t v) {
    return fpmath_mode_name(v);
}
const char *zemm_accumulation_mode2str(zemm_accumulation_mode_t v) {
    return accumulation_mode_name(v);
}
const char *zemm_scratchpad_mode2str(zemm_scratchpad_mode_t v) {
    return scratchpad_mode_name(v);
}
const char *zemm_rounding_mode2str(zemm_rounding_mode_t v) {
    return rounding_mode_name(v);
}
const char *zemm_quantization_mode2str(zemm_quantization_mode_t v) {
    return quantization_mode_name(v);
}
const char *zemm_prop_kind2str(zemm_prop_kind_t v) {
    return prop_kind_name(v);
}
const char *zemm_prim_kind2str(zemm_primitive_kind_t v) {
    return primitive_kind_name(v);
}
const char *zemm_alg_kind2str(zemm_alg_kind_t v) {
    return alg_kind_name(v);
}
const char *zemm_runtime2str(unsigned v) {
    return runtime_name(v);
}
