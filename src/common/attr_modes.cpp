// SPDX-License-Identifier: Apache-2.0
// Setters of the modes: math, accumulation, scratchpad, rounding and dropout.
#include <atomic>

#include "common/attr_ops.hpp"
#include "common/env.hpp"
#include "common/error.hpp"
#include "common/md_check.hpp"
#include "common/names.hpp"

namespace zemm {

namespace {

// The mode from ZEMM_DEFAULT_FPMATH_MODE; strict if the variable is not set or names no mode.
zemm_fpmath_mode_t start_fpmath_mode() {
    const std::string wanted = env("ZEMM_DEFAULT_FPMATH_MODE");
    for (int v = 0; is_known(zemm_fpmath_mode_t(v)); v++)
        if (wanted == fpmath_mode_name(zemm_fpmath_mode_t(v)))
            return zemm_fpmath_mode_t(v);
    return zemm_fpmath_mode_strict;
}

std::atomic<zemm_fpmath_mode_t> &fpmath_default() {
    static std::atomic<zemm_fpmath_mode_t> value{start_fpmath_mode()};
    return value;
}

template <typename T> void check_mode(const char *caller, T mode) {
    if (!is_known(mode))
        fail(zemm_invalid_arguments, "%s: mode %d is unknown", caller, int(mode));
}

// Whether an argument may have a rounding mode: dst, or one of oneDNN's gradients DIFF_SRC (129)
// and DIFF_WEIGHTS (161), which zemm does not have but programs written for oneDNN may name.
bool is_rounded_arg(int arg) {
    return arg == ZEMM_ARG_DST || arg == 129 || arg == 161;
}

} // namespace

zemm_fpmath_mode_t default_fpmath_mode() {
    return fpmath_default();
}

void set_default_fpmath_mode(zemm_fpmath_mode_t mode) {
    check_mode("zemm_set_default_fpmath_mode", mode);
    fpmath_default() = mode;
}

void set_fpmath_mode(zemm_primitive_attr &attr, zemm_fpmath_mode_t mode, bool apply_to_int) {
    check_mode("zemm_primitive_attr_set_fpmath_mode", mode);
    attr.fpmath_mode = mode;
    attr.fpmath_apply_to_int = apply_to_int;
}

void set_accumulation_mode(zemm_primitive_attr &attr, zemm_accumulation_mode_t mode) {
    check_mode("zemm_primitive_attr_set_accumulation_mode", mode);
    attr.accumulation_mode = mode;
}

void set_scratchpad_mode(zemm_primitive_attr &attr, zemm_scratchpad_mode_t mode) {
    check_mode("zemm_primitive_attr_set_scratchpad_mode", mode);
    attr.scratchpad_mode = mode;
}

void set_rounding(zemm_primitive_attr &attr, int arg, zemm_rounding_mode_t mode) {
    const char *const caller = "zemm_primitive_attr_set_rounding";
    check_mode(caller, mode);
    if (mode == zemm_rounding_mode_environment) {
        attr.rounding.erase(arg);
        return;
    }
    if (!is_rounded_arg(arg))
        fail(zemm_invalid_arguments, "%s: arg %d (%s) is no result, only dst is rounded stochastically",
             caller, arg, arg_text(arg).c_str());
    attr.rounding[arg] = mode;
}

zemm_rounding_mode_t get_rounding(const zemm_primitive_attr &attr, int arg) {
    const auto found = attr.rounding.find(arg);
    return found == attr.rounding.end() ? zemm_rounding_mode_environment : found->second;
}

void set_dropout(zemm_primitive_attr &attr, const memory_desc *mask, zemm_data_type_t seed_dt,
                 bool use_offset, bool use_host_scalars) {
    const char *const caller = "zemm_primitive_attr_set_dropout";
    const memory_desc md = mask ? *mask : memory_desc();
    check_md(caller, md);
    if (!md_is_zero(md) && md.data_type != zemm_u8)
        fail(zemm_invalid_arguments, "%s: mask_desc has data type %s, a mask is u8", caller,
             data_type_name(md.data_type));
    if (seed_dt != zemm_s32 && seed_dt != zemm_s64)
        fail(zemm_invalid_arguments, "%s: seed_dt %s is not s32 or s64", caller, data_type_name(seed_dt));
    attr.has_dropout = true;
    attr.dropout_mask = md;
    attr.dropout_seed_dt = seed_dt;
    attr.dropout_use_offset = use_offset;
    attr.dropout_use_host_scalars = use_host_scalars;
}

} // namespace zemm
