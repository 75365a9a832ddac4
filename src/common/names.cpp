// SPDX-License-Identifier: Apache-2.0
// The names of enum values.
#include "common/names.hpp"

#include <iterator>

namespace zemm {

namespace {

struct row {
    int value;
    const char *name;
};

// Makes the value and its name of one word, so that they cannot differ.
#define NAME(prefix, word)                                                                                   \
    { zemm_##prefix##word, #word }

constexpr row statuses[] = {NAME(, success),       NAME(, out_of_memory),     NAME(, invalid_arguments),
                            NAME(, unimplemented), NAME(, last_impl_reached), NAME(, runtime_error),
                            NAME(, not_required),  NAME(, invalid_graph),     NAME(, invalid_graph_op),
                            NAME(, invalid_shape), NAME(, invalid_data_type)};
constexpr row data_types[] = {
    {zemm_data_type_undef, "undef"},
#define ZEMM_TYPE(name, NAME, number, bits) {zemm_##name, #name},
#define ZEMM_COPIED_TYPE(name, number, bits, kind) {zemm_##name, #name},
#define ZEMM_NO_ELEMENT(name, number, bits, text) {zemm_##name, text},
#include "lists/types.def"
};
constexpr row format_kinds[] = {
    NAME(format_kind_, undef),  NAME(format_kind_, any),    NAME(, blocked),
    NAME(format_kind_, opaque), NAME(format_kind_, sparse), NAME(format_kind_, host_scalar)};
// By value. The build makes the list from the public header.
constexpr const char *format_tags[] = {
#include "format_tags.inc"
};
static_assert(std::size(format_tags) == zemm_format_tag_last);
constexpr row sparse_encodings[] = {
    {zemm_sparse_encoding_undef, "undef"}, NAME(, csr), NAME(, packed), NAME(, coo), NAME(, grouped)};
constexpr row engine_kinds[] = {{zemm_any_engine, "any"}, NAME(, cpu), NAME(, gpu)};
constexpr row fpmath_modes[] = {NAME(fpmath_mode_, strict), NAME(fpmath_mode_, bf16), NAME(fpmath_mode_, f16),
                                NAME(fpmath_mode_, any), NAME(fpmath_mode_, tf32)};
constexpr row accumulation_modes[] = {NAME(accumulation_mode_, strict), NAME(accumulation_mode_, relaxed),
                                      NAME(accumulation_mode_, any),    NAME(accumulation_mode_, s32),
                                      NAME(accumulation_mode_, f32),    NAME(accumulation_mode_, f16)};
constexpr row scratchpad_modes[] = {NAME(scratchpad_mode_, library), NAME(scratchpad_mode_, user)};
constexpr row rounding_modes[] = {NAME(rounding_mode_, environment), NAME(rounding_mode_, stochastic)};
constexpr row quantization_modes[] = {NAME(quantization_mode_, undef), NAME(quantization_mode_, static_sazp),
                                      NAME(quantization_mode_, dynamic_mx),
                                      NAME(quantization_mode_, dynamic_fp)};
constexpr row prop_kinds[] = {
    {zemm_prop_kind_undef, "undef"}, NAME(, forward_training), NAME(, forward_inference), NAME(, backward),
    NAME(, backward_data),           NAME(, backward_weights), NAME(, backward_bias)};
constexpr row primitive_kinds[] = {{zemm_undefined_primitive, "undef"},
#define ZEMM_KIND(name, number) NAME(, name),
#include "lists/algs.def"
                                   NAME(, reorder),
                                   NAME(, shuffle),
                                   NAME(, concat),
                                   NAME(, convolution),
                                   NAME(, deconvolution),
                                   NAME(, eltwise),
                                   NAME(, lrn),
                                   NAME(, batch_normalization),
                                   NAME(, inner_product),
                                   NAME(, rnn),
                                   NAME(, gemm),
                                   NAME(, binary),
                                   NAME(, matmul),
                                   NAME(, resampling),
                                   NAME(, pooling),
                                   NAME(, reduction),
                                   NAME(, softmax),
                                   NAME(, layer_normalization),
                                   NAME(, group_normalization),
                                   NAME(, dynamic_quantize)};
constexpr row alg_kinds[] = {{zemm_alg_kind_undef, "undef"},
#define ZEMM_ELTWISE(name, number, formula) NAME(, eltwise_##name),
#define ZEMM_ELTWISE_SAME(name, number) NAME(, eltwise_##name),
#define ZEMM_BINARY(name, number, formula) NAME(, binary_##name),
#define ZEMM_TERNARY(name, number, formula) NAME(, binary_##name),
#define ZEMM_IN_PLACE(name, number, of) NAME(, binary_##name),
#include "lists/algs.def"
                             NAME(, reduction_max),
                             NAME(, reduction_min),
                             NAME(, reduction_sum),
                             NAME(, reduction_mul),
                             NAME(, reduction_mean),
                             NAME(, reduction_norm_lp_max),
                             NAME(, reduction_norm_lp_sum),
                             NAME(, reduction_norm_lp_power_p_max),
                             NAME(, reduction_norm_lp_power_p_sum),
                             NAME(, softmax_accurate),
                             NAME(, softmax_log),
                             NAME(, dynamic_quantize_symmetric),
                             NAME(, dynamic_quantize_asymmetric)};
constexpr row runtimes[] = {
    {ZEMM_RUNTIME_NONE, "none"}, {ZEMM_RUNTIME_SEQ, "sequential"},        {ZEMM_RUNTIME_OMP, "OpenMP"},
    {ZEMM_RUNTIME_TBB, "TBB"},   {ZEMM_RUNTIME_THREADPOOL, "threadpool"}, {ZEMM_RUNTIME_OCL, "OpenCL"},
    {ZEMM_RUNTIME_SYCL, "SYCL"}, {ZEMM_RUNTIME_ZE, "Level Zero"}};
#undef NAME

template <size_t n> const char *find(const row (&rows)[n], int value, const char *unknown) {
    for (const row &r : rows)
        if (r.value == value)
            return r.name;
    return unknown;
}

} // namespace

const char *status_name(zemm_status_t v) {
    return find(statuses, v, "unknown status");
}
const char *data_type_name(zemm_data_type_t v) {
    return find(data_types, v, "unknown dt");
}
const char *format_kind_name(zemm_format_kind_t v) {
    return find(format_kinds, v, "unknown fmt_kind");
}
const char *format_tag_name(zemm_format_tag_t v) {
    return is_known(v) ? format_tags[v] : "unknown fmt_tag";
}
const char *sparse_encoding_name(zemm_sparse_encoding_t v) {
    return find(sparse_encodings, v, "unknown sparse_encoding");
}
const char *engine_kind_name(zemm_engine_kind_t v) {
    return find(engine_kinds, v, "unknown engine_kind");
}
const char *fpmath_mode_name(zemm_fpmath_mode_t v) {
    return find(fpmath_modes, v, "unknown fpmath_mode");
}
const char *accumulation_mode_name(zemm_accumulation_mode_t v) {
    return find(accumulation_modes, v, "unknown accumulation_mode");
}
const char *scratchpad_mode_name(zemm_scratchpad_mode_t v) {
    return find(scratchpad_modes, v, "unknown scratchpad_mode");
}
const char *rounding_mode_name(zemm_rounding_mode_t v) {
    return find(rounding_modes, v, "unknown rounding_mode");
}
const char *quantization_mode_name(zemm_quantization_mode_t v) {
    return find(quantization_modes, v, "unknown quantization_mode");
}
const char *prop_kind_name(zemm_prop_kind_t v) {
    return find(prop_kinds, v, "unknown prop_kind");
}
const char *primitive_kind_name(zemm_primitive_kind_t v) {
    return find(primitive_kinds, v, "unknown prim_kind");
}
const char *alg_kind_name(zemm_alg_kind_t v) {
    return find(alg_kinds, v, "unknown alg_kind");
}
const char *runtime_name(unsigned v) {
    return find(runtimes, int(v), "unknown runtime");
}

bool is_known(zemm_fpmath_mode_t v) {
    return find(fpmath_modes, v, nullptr);
}
bool is_known(zemm_accumulation_mode_t v) {
    return find(accumulation_modes, v, nullptr);
}
bool is_known(zemm_scratchpad_mode_t v) {
    return find(scratchpad_modes, v, nullptr);
}
bool is_known(zemm_rounding_mode_t v) {
    return find(rounding_modes, v, nullptr);
}
bool is_known(zemm_format_tag_t v) {
    return v >= 0 && v < zemm_format_tag_last;
}

} // namespace zemm
