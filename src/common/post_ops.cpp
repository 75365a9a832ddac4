// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

#include "common/post_ops.hpp"

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

void check_sum(const char *caller, const post_op &op) {
    check_known(caller, "scale", op.alpha);
    if (op.data_type != zemm_data_type_undef)
        check_data_type(caller, "data_type", op.data_type);
}

void check_eltwise(const char *caller, const post_op &op) {
    if (!is_eltwise(op.alg))
        fail(zemm_invalid_arguments, "%s: alg %#x (%s) is no eltwise algorithm", caller, unsigned(op.alg),
             alg_kind_name(op.alg));
    check_known(caller, "alpha", op.alpha);
    check_known(caller, "beta", op.beta);
    if (is_clip(op.alg) && op.beta < op.alpha)
        fail(zemm_invalid_arguments, "%s: %s between alpha %g and a smaller beta %g", caller,
             alg_kind_name(op.alg), double(op.alpha), double(op.beta));
    // oneDNN's backward pass of these algorithms reads the sign of x from the result. A negative
    // alpha makes that impossible.
    if ((op.alg == zemm_eltwise_relu_use_dst_for_bwd || op.alg == zemm_eltwise_elu_use_dst_for_bwd) &&
        op.alpha < 0)
        fail(zemm_invalid_arguments, "%s: %s with the negative alpha %g", caller, alg_kind_name(op.alg),
             double(op.alpha));
}

void check_binary(const char *caller, const post_op &op) {
    if (!is_binary(op.alg))
        fail(zemm_invalid_arguments, "%s: alg %#x (%s) is no binary algorithm", caller, unsigned(op.alg),
             alg_kind_name(op.alg));
    check_source(caller, "src1_desc", op.src1);
    const bool has_src2 = !md_is_zero(op.src2);
    if (has_src2 != (op.alg == zemm_binary_select))
        fail(zemm_invalid_arguments, "%s: %s %s src2_desc", caller, alg_kind_name(op.alg),
             has_src2 ? "has no use for" : "needs");
    if (!has_src2)
        return;
    check_source(caller, "src2_desc", op.src2);
    if (!is_int8(op.src2.data_type))
        fail(zemm_invalid_arguments, "%s: src2_desc has data type %s, a condition is s8 or u8", caller,
             data_type_name(op.src2.data_type));
}

void check_prelu(const char *caller, const post_op &op) {
    if (op.mask < 0 || op.mask >= 1 << ZEMM_MAX_NDIMS)
        fail(zemm_invalid_arguments, "%s: mask %d is outside 0..%d", caller, op.mask,
             (1 << ZEMM_MAX_NDIMS) - 1);
}

void check_entry(const char *caller, const post_op &op) {
    switch (op.kind) {
    case zemm_sum:
        return check_sum(caller, op);
    case zemm_eltwise:
        return check_eltwise(caller, op);
    case zemm_binary:
        return check_binary(caller, op);
    default:
        return check_prelu(caller, op);
    }
}

} // namespace

void append(zemm_post_ops &list, const post_op &entry) {
    const std::string caller = text("zemm_post_ops_append_%s", primitive_kind_name(entry.kind));
    check_entry(caller.c_str(), entry);
    if (list.entries.size() >= post_ops_limit)
        fail(zemm_out_of_memory, "%s: the list has its %zu post-ops already", caller.c_str(), post_ops_limit);
    list.entries.push_back(entry);
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
    if (zp || p.alpha != 1.f)
        result += ":" + float_text(p.alpha);
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

// The number of a post-op's formula in the kernels.
int number_of(const post_op &op) {
    switch (op.kind) {
#define ZEMM_KIND(name, number)                                                                              \
    case zemm_##name:                                                                                        \
        return number;
#include "lists/algs.def"
    default:
        return computed_alg(op.alg);
    }
}

// The slopes of a prelu post-op: f32, layout axb (dimension 1 is innermost), the size of dst in the
// dimensions whose mask bit is set and 1 in the others.
memory_desc slopes_md(const memory_desc &dst, int mask) {
    zemm_dims_t dims = {}, strides = {};
    for (int d = 0; d < dst.ndims; ++d)
        dims[d] = mask >> d & 1 ? dst.dims[d] : 1;
    zemm_dim_t stride = dims[1];
    strides[1] = 1;
    for (int d = dst.ndims - 1; d >= 0; --d) {
        if (d == 1)
            continue;
        strides[d] = stride;
        stride = runtime_product(stride, dims[d]);
    }
    return md_with_strides(dst.ndims, dims, zemm_f32, strides);
}

// The type that a sum reads dst as.
zemm_data_type_t old_dst_type(const post_op &sum, const memory_desc &dst) {
    return sum.data_type == zemm_data_type_undef ? dst.data_type : sum.data_type;
}

} // namespace

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

void check_post_op(const post_op &op, int index, const memory_desc &dst, bool is_integer) {
    if (op.kind == zemm_prelu && op.mask >> dst.ndims)
        fail(zemm_unimplemented, "post-op %d: prelu's mask %d has bits past the %d dimensions", index,
             op.mask, dst.ndims);
    if (op.kind != zemm_sum)
        return;
    const zemm_data_type_t dt = old_dst_type(op, dst);
    if (bytes_of(dt, 1) != bytes_of(dst.data_type, 1))
        fail(zemm_unimplemented, "post-op %d: sum reads dst as %s, which has not the size of dst's %s", index,
             data_type_name(dt), data_type_name(dst.data_type));
    if (op.zero_point != 0 && !(is_integer && (is_int8(dt) || dt == zemm_s32)))
        fail(zemm_unimplemented, "post-op %d: sum's zero point %d needs an s8 or u8 src and an integer dst",
             index, op.zero_point);
}

post_op_operands operands_of(const post_op &op, const memory_desc &dst) {
    post_op_operands found{.alg = number_of(op)};
    if (op.kind == zemm_sum)
        found.src1.data_type = old_dst_type(op, dst);
    if (op.kind == zemm_prelu)
        found = {.alg = found.alg, .src1_arg = ZEMM_ARG_WEIGHTS, .src1 = slopes_md(dst, op.mask)};
    if (!md_is_zero(op.src1))
        found.src1_arg = ZEMM_ARG_SRC_1, found.src1 = op.src1;
    if (!md_is_zero(op.src2))
        found.src2_arg = ZEMM_ARG_SRC_2, found.src2 = op.src2;
    return found;
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

} // namespace zemm
