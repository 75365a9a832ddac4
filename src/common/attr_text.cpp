// SPDX-License-Identifier: Apache-2.0
// Attributes as text, for the verbose log and for sentences.
#include <initializer_list>
#include <utility>

#include "common/attr.hpp"
#include "common/error.hpp"
#include "common/names.hpp"

namespace zemm {

std::string arg_text(int arg) {
    constexpr std::pair<int, const char *> names[] = {
        {ZEMM_ARG_SRC, "src0"},
        {ZEMM_ARG_SRC_1, "src1"},
        {ZEMM_ARG_SRC_2, "src2"},
        {ZEMM_ARG_SRC_3, "src3"},
        {ZEMM_ARG_DST, "dst"},
        {ZEMM_ARG_WEIGHTS, "wei"},
        {ZEMM_ARG_WEIGHTS_1, "wei1"},
        {ZEMM_ARG_WEIGHTS_2, "wei2"},
        {ZEMM_ARG_WEIGHTS_3, "wei3"},
        {ZEMM_ARG_BIAS, "bia"},
        {ZEMM_ARG_SCRATCHPAD, "scratchpad"},
        {129, "diff_src"}, // oneDNN's gradients, see is_rounded_arg()
        {161, "diff_wei"},
    };
    for (const auto &[known, name] : names)
        if (known == arg)
            return name;
    constexpr std::pair<int, const char *> kinds[] = {
        {ZEMM_ARG_ATTR_OFFSETS, "attr_offsets_"},
        {ZEMM_ARG_ATTR_SCALE_FACTORS, "attr_scale_factors_"},
        {ZEMM_ARG_ATTR_OFFSET_FACTORS, "attr_offset_factors_"},
    };
    for (const auto &[flag, name] : kinds)
        if (arg & flag)
            return name + arg_text(arg & ~flag);
    if (arg >= ZEMM_ARG_ATTR_MULTIPLE_POST_OP_BASE)
        return text("attr_post_op%d_%s", arg / ZEMM_ARG_ATTR_MULTIPLE_POST_OP_BASE - 1,
                    arg_text(arg % ZEMM_ARG_ATTR_MULTIPLE_POST_OP_BASE).c_str());
    if (arg & ZEMM_ARG_ATTR_POST_OP_DW)
        return "attr_post_op_dw_" + arg_text(arg & ~ZEMM_ARG_ATTR_POST_OP_DW);
    if (arg & ZEMM_ARG_ATTR_ZERO_POINTS)
        return "attr_zero_points_" + arg_text(arg & ~ZEMM_ARG_ATTR_ZERO_POINTS);
    if (arg & ZEMM_ARG_ATTR_SCALES)
        return "attr_scales_" + arg_text(arg & ~ZEMM_ARG_ATTR_SCALES);
    if (arg >= ZEMM_ARG_MULTIPLE_SRC && arg < ZEMM_ARG_MULTIPLE_DST)
        return text("msrc%d", arg - ZEMM_ARG_MULTIPLE_SRC);
    if (arg > ZEMM_ARG_ATTR_PRECOMPUTED_REDUCTIONS && arg < ZEMM_ARG_MULTIPLE_SRC)
        return "attr_precomputed_reductions_" + arg_text(arg - ZEMM_ARG_ATTR_PRECOMPUTED_REDUCTIONS);
    return text("arg%d", arg);
}

namespace {

// The text of an attribute's value, empty for the default.
std::string value_text(bool value) {
    return value ? "1" : "";
}

std::string value_text(zemm_dim_t size) {
    return size ? std::to_string(size) : "";
}

#define ZEMM_MODE_ATTRIBUTE(name, ...)                                                                       \
    std::string value_text(zemm_##name##_t mode) { return mode ? name##_name(mode) : ""; }
#include "lists/attributes.def"

std::string value_text(const fpmath &f) {
    if (f.mode == zemm_fpmath_mode_strict && !f.apply_to_int)
        return "";
    return std::string(fpmath_mode_name(f.mode)) + (f.apply_to_int ? ":true" : "");
}

template <typename List, typename F> std::string joined(const List &list, F &&text_of) {
    std::string result;
    for (const auto &entry : list)
        result += (result.empty() ? "" : "+") + text_of(entry);
    return result;
}

std::string value_text(const quant_map &map) {
    return joined(map, [](const auto &entry) {
        const auto &[arg, e] = entry;
        std::string result = text("%s:%d:%s", arg_text(arg).c_str(), e.mask, data_type_name(e.data_type));
        if (e.group_ndims)
            result += ":" + dims_text(2, e.groups);
        if (e.is_on_host)
            result += ":host_scalar";
        if (e.mode != zemm_quantization_mode_static_sazp)
            result += text(":%s", quantization_mode_name(e.mode));
        return result;
    });
}

std::string value_text(const rounding_map &map) {
    return joined(map, [](const auto &entry) {
        return arg_text(entry.first) + ":" + rounding_mode_name(entry.second);
    });
}

std::string value_text(const std::set<int> &args) {
    return joined(args, arg_text);
}

std::string value_text(const zemm_post_ops &list) {
    return joined(list.entries, post_op_text);
}

std::string value_text(const dropout_params &d) {
    return d.is_on ? text("%s:%s:%d:%d", tag_text(d.mask).c_str(), data_type_name(d.seed_dt), d.use_offset,
                          d.use_host_scalars)
                   : "";
}

// The columns inner_product, reorder and grouped of the list.
enum answer { yes, no, never };

} // namespace

std::string attr_text(const zemm_primitive_attr &attr) {
    std::string result;
    const auto add = [&](const char *option, const std::string &value) {
        if (!value.empty())
            result += text("%s%s:", result.empty() ? "" : " ", option) + value;
    };
#define ZEMM_ATTRIBUTE(name, type, option, ...) add(option, value_text(attr.name));
#include "lists/attributes.def"
    return result;
}

void refuse_missing(const zemm_primitive_attr &attr, operation op) {
    static constexpr const char *names[] = {"an inner product", "a reorder", "a grouped matmul"};
    const auto check = [&](std::initializer_list<answer> answers, const auto &value, const char *what) {
        const answer found = answers.begin()[int(op)];
        if (found != yes && !value_text(value).empty())
            fail(found == no ? zemm_unimplemented : zemm_invalid_arguments, "%s has no %s: a matmul has",
                 names[int(op)], what);
    };
#define ZEMM_ATTRIBUTE(name, type, option, inner_product, reorder, grouped, what)                            \
    check({inner_product, reorder, grouped}, attr.name, what);
#include "lists/attributes.def"
}

} // namespace zemm
