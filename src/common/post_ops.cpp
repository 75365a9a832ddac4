// SPDX-License-Identifier: Apache-2.0
// The kinds of post-ops: appending them to a list, after checks that need no tensor of the primitive, and
// their text in the verbose log.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

#include "common/attr_ops.hpp"
#include "common/error.hpp"
#include "common/md_check.hpp"
#include "common/names.hpp"

namespace zemm {

namespace {

// The algorithms with a formula in lists/algs.def.
constexpr zemm_alg_kind_t eltwise_algs[] = {
#define ZEMM_ELTWISE(name, number, formula) zemm_eltwise_##name,
#define ZEMM_ELTWISE_SAME(name, number) zemm_eltwise_##name,
#include "lists/algs.def"
};
constexpr zemm_alg_kind_t binary_algs[] = {
#define ZEMM_BINARY(name, number, formula) zemm_binary_##name,
#define ZEMM_TERNARY(name, number, formula) zemm_binary_##name,
#define ZEMM_IN_PLACE(name, number, of) zemm_binary_##name,
#include "lists/algs.def"
};

bool is_eltwise(zemm_alg_kind_t alg) {
    return std::ranges::find(eltwise_algs, alg) != std::end(eltwise_algs);
}

bool is_binary(zemm_alg_kind_t alg) {
    return std::ranges::find(binary_algs, alg) != std::end(binary_algs);
}

bool is_clip(zemm_alg_kind_t alg) {
    return alg == zemm_eltwise_clip || alg == zemm_eltwise_clip_v2 ||
           alg == zemm_eltwise_clip_v2_use_dst_for_bwd;
}

// Refuses the placeholder for runtime values. It is a NaN, so only its bits can be compared.
void check_known(const char *caller, const char *name, float value) {
    const float placeholder = ZEMM_RUNTIME_F32_VAL;
    if (!std::memcmp(&value, &placeholder, sizeof value))
        fail(zemm_invalid_arguments, "%s: %s is the placeholder for a runtime value", caller, name);
}

void append(const char *caller, zemm_post_ops &list, const post_op &entry) {
    if (list.entries.size() >= post_ops_limit)
        fail(zemm_out_of_memory, "%s: the list has its %zu post-ops already", caller, post_ops_limit);
    list.entries.push_back(entry);
}

void check_source(const char *caller, const char *name, const memory_desc &md) {
    check_md(caller, md);
    if (md_is_zero(md))
        fail(zemm_invalid_arguments, "%s: %s has no dimensions", caller, name);
    if (md_has_runtime(md))
        fail(zemm_invalid_arguments, "%s: %s has runtime values, its dims are %s", caller, name,
             dims_text(md).c_str());
    const bool tensor = md.format_kind == zemm_blocked || md.format_kind == zemm_format_kind_any ||
                        (md.format_kind == zemm_format_kind_sparse && md.encoding == zemm_grouped);
    if (!tensor)
        fail(zemm_invalid_arguments, "%s: %s has format %s", caller, name, format_kind_name(md.format_kind));
}

} // namespace

void append_sum(zemm_post_ops &list, float scale, int32_t zero_point, zemm_data_type_t dt) {
    const char *const caller = "zemm_post_ops_append_sum";
    check_known(caller, "scale", scale);
    if (dt != zemm_data_type_undef)
        check_data_type(caller, "data_type", dt);
    post_op entry;
    entry.kind = zemm_sum;
    entry.scale = scale;
    entry.zero_point = zero_point;
    entry.data_type = dt;
    append(caller, list, entry);
}

void append_eltwise(zemm_post_ops &list, zemm_alg_kind_t alg, float alpha, float beta) {
    const char *const caller = "zemm_post_ops_append_eltwise";
    if (!is_eltwise(alg))
        fail(zemm_invalid_arguments, "%s: alg %#x (%s) is no eltwise algorithm", caller, unsigned(alg),
             alg_kind_name(alg));
    check_known(caller, "alpha", alpha);
    check_known(caller, "beta", beta);
    if (is_clip(alg) && beta < alpha)
        fail(zemm_invalid_arguments, "%s: %s between alpha %g and a smaller beta %g", caller,
             alg_kind_name(alg), double(alpha), double(beta));
    // oneDNN's backward pass of these algorithms reads the sign of x from the result. A negative
    // alpha makes that impossible.
    if ((alg == zemm_eltwise_relu_use_dst_for_bwd || alg == zemm_eltwise_elu_use_dst_for_bwd) && alpha < 0)
        fail(zemm_invalid_arguments, "%s: %s with the negative alpha %g", caller, alg_kind_name(alg),
             double(alpha));
    post_op entry;
    entry.kind = zemm_eltwise;
    entry.alg = alg;
    entry.alpha = alpha;
    entry.beta = beta;
    append(caller, list, entry);
}

void append_binary(zemm_post_ops &list, zemm_alg_kind_t alg, const memory_desc &src1,
                   const memory_desc *src2) {
    const char *const caller = "zemm_post_ops_append_binary";
    if (!is_binary(alg))
        fail(zemm_invalid_arguments, "%s: alg %#x (%s) is no binary algorithm", caller, unsigned(alg),
             alg_kind_name(alg));
    check_source(caller, "src1_desc", src1);
    const bool has_src2 = src2 && !md_is_zero(*src2);
    if (has_src2 != (alg == zemm_binary_select))
        fail(zemm_invalid_arguments, "%s: %s %s src2_desc", caller, alg_kind_name(alg),
             has_src2 ? "has no use for" : "needs");
    if (has_src2) {
        check_source(caller, "src2_desc", *src2);
        if (!is_int8(src2->data_type))
            fail(zemm_invalid_arguments, "%s: src2_desc has data type %s, a condition is s8 or u8", caller,
                 data_type_name(src2->data_type));
    }
    post_op entry;
    entry.kind = zemm_binary;
    entry.alg = alg;
    entry.src1 = src1;
    if (has_src2)
        entry.src2 = *src2;
    append(caller, list, entry);
}

zemm_alg_kind_t computed_alg(zemm_alg_kind_t alg) {
    switch (alg) {
#define ZEMM_IN_PLACE(name, number, of)                                                                      \
    case zemm_binary_##name:                                                                                 \
        return zemm_binary_##of;
#include "lists/algs.def"
    default:
        return alg;
    }
}

bool is_in_place(const post_op &op) {
    return op.kind == zemm_binary && computed_alg(op.alg) != op.alg;
}

void append_prelu(zemm_post_ops &list, int mask) {
    const char *const caller = "zemm_post_ops_append_prelu";
    if (mask < 0 || mask >= 1 << ZEMM_MAX_NDIMS)
        fail(zemm_invalid_arguments, "%s: mask %d is outside 0..%d", caller, mask, (1 << ZEMM_MAX_NDIMS) - 1);
    post_op entry;
    entry.kind = zemm_prelu;
    entry.mask = mask;
    append(caller, list, entry);
}

const post_op &post_op_at(const zemm_post_ops &list, int index, zemm_primitive_kind_t kind) {
    if (index < 0 || size_t(index) >= list.entries.size())
        fail(zemm_invalid_arguments, "zemm_post_ops_get_params: index %d in a list of %zu", index,
             list.entries.size());
    const post_op &entry = list.entries[size_t(index)];
    if (entry.kind != kind)
        fail(zemm_invalid_arguments, "zemm_post_ops_get_params: post-op %d is a %s, not a %s", index,
             primitive_kind_name(entry.kind), primitive_kind_name(kind));
    return entry;
}

namespace {

// The shortest text that parses to exactly this value.
std::string float_text(float value) {
    char buffer[32];
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
    return std::string(buffer, end);
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

} // namespace

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

} // namespace zemm
