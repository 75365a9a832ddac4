// SPDX-License-Identifier: Apache-2.0
// Attributes as text, for the verbose log and for sentences.
#include <charconv>
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
    if (arg & ZEMM_ARG_ATTR_OFFSETS)
        return "attr_offsets_" + arg_text(arg & ~ZEMM_ARG_ATTR_OFFSETS);
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

// The shortest text that parses to exactly this value.
std::string float_text(float value) {
    char buffer[32];
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
    return std::string(buffer, end);
}

std::string quant_text(const char *name, const quant_map &map) {
    std::string result;
    for (const auto &[arg, e] : map) {
        result += result.empty() ? text(" %s:", name) : "+";
        result += text("%s:%d:%s", arg_text(arg).c_str(), e.mask, data_type_name(e.data_type));
        if (e.group_ndims)
            result += ":" + dims_text(2, e.groups);
        if (e.is_on_host)
            result += ":host_scalar";
        if (e.mode != zemm_quantization_mode_static_sazp)
            result += text(":%s", quantization_mode_name(e.mode));
    }
    return result;
}

std::string sum_text(const post_op &p) {
    std::string result = "sum";
    const bool dt = p.data_type != zemm_data_type_undef, zp = dt || p.zero_point != 0;
    if (zp || p.scale != 1.f)
        result += ":" + float_text(p.scale);
    if (zp)
        result += text(":%d", p.zero_point);
    if (dt)
        result += text(":%s", data_type_name(p.data_type));
    return result;
}

std::string eltwise_text(const post_op &p) {
    std::string result = alg_kind_name(p.alg);
    if (p.alpha != 0.f || p.beta != 0.f)
        result += ":" + float_text(p.alpha);
    if (p.beta != 0.f)
        result += ":" + float_text(p.beta);
    return result;
}

// The source of a binary post-op: "MASK", then the tag if more than one dimension is not 1, then
// the strides if the layout is not dense. The mask has a bit for each dimension that is not 1.
std::string source_text(const memory_desc &md, char separator) {
    int mask = 0;
    for (int d = 0; d < md.ndims; d++)
        if (md.dims[d] != 1)
            mask |= 1 << d;
    std::string result = std::to_string(mask);
    if (md.format_kind == zemm_format_kind_sparse)
        return result + separator + sparse_encoding_name(md.encoding);
    if (__builtin_popcount(unsigned(mask)) < 2)
        return result;
    result += separator + tag_text(md);
    const std::string strides = strides_text(md);
    return strides.empty() ? result : result + separator + strides;
}

// A select has two sources. In the syntax of zemm-benchdnn, dots join the fields of each source,
// and a colon separates the sources.
std::string binary_text(const post_op &p) {
    const bool select = p.alg == zemm_binary_select;
    const char separator = select ? '.' : ':';
    std::string result = text("%s:%s%c", alg_kind_name(p.alg), data_type_name(p.src1.data_type), separator);
    result += source_text(p.src1, separator);
    return select ? result + ":" + source_text(p.src2, separator) : result;
}

std::string post_op_text(const post_op &p) {
    switch (p.kind) {
    case zemm_sum:
        return sum_text(p);
    case zemm_eltwise:
        return eltwise_text(p);
    case zemm_binary:
        return binary_text(p);
    case zemm_prelu:
        return text("prelu:%d", p.mask);
    default:
        return "undef";
    }
}

std::string modes_text(const zemm_primitive_attr &a) {
    std::string result;
    if (a.scratchpad_mode != zemm_scratchpad_mode_library)
        result += text(" attr-scratchpad:%s", scratchpad_mode_name(a.scratchpad_mode));
    if (a.fpmath_mode != zemm_fpmath_mode_strict || a.fpmath_apply_to_int)
        result +=
            text(" attr-fpmath:%s%s", fpmath_mode_name(a.fpmath_mode), a.fpmath_apply_to_int ? ":true" : "");
    if (a.accumulation_mode != zemm_accumulation_mode_strict)
        result += text(" attr-acc-mode:%s", accumulation_mode_name(a.accumulation_mode));
    const char *separator = " attr-rounding-mode:";
    for (const auto &[arg, mode] : a.rounding) {
        result += text("%s%s:%s", separator, arg_text(arg).c_str(), rounding_mode_name(mode));
        separator = "+";
    }
    if (a.deterministic)
        result += " attr-deterministic:1";
    if (a.saturation)
        result += " attr-saturation:1";
    return result;
}

} // namespace

std::string attr_text(const zemm_primitive_attr &a) {
    std::string result = modes_text(a);
    result += quant_text("attr-scales", a.scales);
    result += quant_text("attr-zero-points", a.zero_points);
    result += quant_text("attr-offsets", a.offsets);
    result += quant_text("attr-precomputed-reductions", a.precomputed_reductions);
    const char *separator = " attr-reduced-range:";
    for (int arg : a.reduced_range) {
        result += separator + arg_text(arg);
        separator = "+";
    }
    if (a.src_group != 0)
        result += text(" attr-src-dyn-quant:%lld", (long long)a.src_group);
    separator = " attr-post-ops:";
    for (const post_op &p : a.post_ops.entries) {
        result += separator + post_op_text(p);
        separator = "+";
    }
    if (a.has_dropout)
        result += text(" attr-dropout:%s:%s:%d:%d", tag_text(a.dropout_mask).c_str(),
                       data_type_name(a.dropout_seed_dt), a.dropout_use_offset, a.dropout_use_host_scalars);
    return result.empty() ? result : result.substr(1);
}

} // namespace zemm
