// SPDX-License-Identifier: Apache-2.0
// Setters of scales, zero points and precomputed reductions, with the checks that need no tensor.
#include <algorithm>
#include <initializer_list>

#include "common/attr_ops.hpp"
#include "common/error.hpp"
#include "common/names.hpp"

namespace zemm {

namespace {

bool one_of(int value, std::initializer_list<int> list) {
    return std::find(list.begin(), list.end(), value) != list.end();
}

bool is_scaled_arg(int arg) {
    return one_of(arg,
                  {ZEMM_ARG_SRC, ZEMM_ARG_SRC_1, ZEMM_ARG_SRC_2, ZEMM_ARG_WEIGHTS, ZEMM_ARG_WEIGHTS_1,
                   ZEMM_ARG_WEIGHTS_2, ZEMM_ARG_DST, ZEMM_ARG_ATTR_POST_OP_DW | ZEMM_ARG_SRC,
                   ZEMM_ARG_ATTR_POST_OP_DW | ZEMM_ARG_WEIGHTS, ZEMM_ARG_ATTR_POST_OP_DW | ZEMM_ARG_DST}) ||
           (arg >= ZEMM_ARG_MULTIPLE_SRC && arg < ZEMM_ARG_MULTIPLE_DST);
}

// Checks mask, groups and is_on_host, whose rules are the same for all three kinds of parameters.
quant_entry checked_entry(const char *caller, const quant_request &r) {
    if (r.mask < 0 || r.mask >= 1 << ZEMM_MAX_NDIMS)
        fail(zemm_invalid_arguments, "%s: mask %d is outside 0..%d", caller, r.mask,
             (1 << ZEMM_MAX_NDIMS) - 1);
    if (r.group_ndims != 0 && r.group_ndims != 2)
        fail(zemm_invalid_arguments, "%s: group_ndims %d is not 0 or 2", caller, r.group_ndims);
    if (r.group_ndims && !r.group_dims)
        fail(zemm_invalid_arguments, "%s: group_dims is NULL with group_ndims %d", caller, r.group_ndims);
    if (r.group_ndims && r.mask == 0)
        fail(zemm_invalid_arguments, "%s: groups with mask 0, which means one value for all", caller);
    if (r.is_on_host && (r.mask != 0 || r.group_ndims != 0))
        fail(zemm_invalid_arguments,
             "%s: mask %d and group_ndims %d for a value on the host, which is a single one", caller, r.mask,
             r.group_ndims);
    quant_entry e;
    e.mask = r.mask;
    e.group_ndims = r.group_ndims;
    for (int i = 0; i < r.group_ndims; i++) {
        e.groups[i] = r.group_dims[i];
        if (e.groups[i] <= 0)
            fail(zemm_invalid_arguments, "%s: group_dims[%d]=%lld is not positive", caller, i,
                 (long long)e.groups[i]);
    }
    e.data_type = r.data_type;
    e.is_on_host = r.is_on_host;
    e.mode = r.mode;
    return e;
}

[[noreturn]] void refuse_arg(const char *caller, int arg) {
    fail(zemm_invalid_arguments, "%s: arg %d (%s) takes no such parameters", caller, arg,
         arg_text(arg).c_str());
}

[[noreturn]] void refuse_type(const char *caller, zemm_data_type_t dt, const std::string &types) {
    fail(zemm_invalid_arguments, "%s: data_type %s is not one of %s", caller, data_type_name(dt),
         types.c_str());
}

// The data types that oneDNN allows for scales, in its order. The primitives refuse those that no
// kernel reads.
constexpr zemm_data_type_t scale_types[] = {zemm_f32, zemm_bf16, zemm_f16, zemm_e8m0, zemm_f8_e4m3};

std::string scale_types_text() {
    std::string names;
    for (zemm_data_type_t dt : scale_types)
        names += (names.empty() ? "" : ", ") + std::string(data_type_name(dt));
    return names;
}

void need_mask(const char *caller, const quant_request &r) {
    if (r.mask == 0)
        fail(zemm_invalid_arguments, "%s: data_type %s needs a mask, a single value cannot have it", caller,
             data_type_name(r.data_type));
}

} // namespace

const quant_entry *find_entry(const quant_map &map, int arg) {
    const auto found = map.find(arg);
    return found == map.end() ? nullptr : &found->second;
}

void set_scales(zemm_primitive_attr &attr, const quant_request &r) {
    const char *const caller = "zemm_primitive_attr_set_scales";
    if (!is_scaled_arg(r.arg))
        refuse_arg(caller, r.arg);
    if (std::ranges::find(scale_types, r.data_type) == std::end(scale_types))
        refuse_type(caller, r.data_type, scale_types_text());
    if (!one_of(r.mode, {zemm_quantization_mode_static_sazp, zemm_quantization_mode_dynamic_mx,
                         zemm_quantization_mode_dynamic_fp}))
        fail(zemm_invalid_arguments, "%s: qmode %d is not static_sazp, dynamic_mx or dynamic_fp", caller,
             int(r.mode));
    const quant_entry e = checked_entry(caller, r);
    if (data_type_bits(r.data_type) == 8)
        need_mask(caller, r);
    attr.scales[r.arg] = e;
}

void set_zero_points(zemm_primitive_attr &attr, const quant_request &r) {
    const char *const caller = "zemm_primitive_attr_set_zero_points";
    const bool grouped_arg =
        one_of(r.arg, {ZEMM_ARG_SRC, ZEMM_ARG_WEIGHTS, ZEMM_ARG_WEIGHTS_1, ZEMM_ARG_WEIGHTS_2});
    if (!grouped_arg && !one_of(r.arg, {ZEMM_ARG_DST, ZEMM_ARG_SRC_2}))
        refuse_arg(caller, r.arg);
    if (!suits(r.data_type, role::zero_point))
        refuse_type(caller, r.data_type, types_for(role::zero_point, ", "));
    if (is_floating(r.data_type) && r.arg != ZEMM_ARG_WEIGHTS)
        fail(zemm_invalid_arguments, "%s: %s zero points of arg %d (%s): only those of weights may be floats",
             caller, data_type_name(r.data_type), r.arg, arg_text(r.arg).c_str());
    const quant_entry e = checked_entry(caller, r);
    if (!grouped_arg && (r.data_type != zemm_s32 || r.group_ndims != 0))
        fail(zemm_invalid_arguments,
             "%s: %s zero points with group_ndims %d: those of arg %d (%s) are s32 without "
             "groups",
             caller, data_type_name(r.data_type), r.group_ndims, r.arg, arg_text(r.arg).c_str());
    if (is_int4(r.data_type))
        need_mask(caller, r);
    attr.zero_points[r.arg] = e;
}

void set_precomputed_reductions(zemm_primitive_attr &attr, const quant_request &r) {
    const char *const caller = "zemm_primitive_attr_set_precomputed_reductions";
    // Those of dst extend oneDNN: a reorder with dynamic scales writes the reductions of what it
    // quantises. Without such scales they are refused here, as in oneDNN.
    const quant_entry *dst_scale = find_entry(attr.scales, ZEMM_ARG_DST);
    if (r.arg == ZEMM_ARG_DST && (!dst_scale || dst_scale->mode == zemm_quantization_mode_static_sazp))
        fail(zemm_invalid_arguments,
             "%s: precomputed reductions of dst need dynamic scales of dst, which are set first", caller);
    if (r.arg != ZEMM_ARG_SRC && r.arg != ZEMM_ARG_DST)
        refuse_arg(caller, r.arg);
    if (r.data_type != zemm_s32)
        refuse_type(caller, r.data_type, "s32");
    attr.precomputed_reductions[r.arg] = checked_entry(caller, r);
}

} // namespace zemm
