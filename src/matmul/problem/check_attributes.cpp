// SPDX-License-Identifier: Apache-2.0
// The attribute stage of make_problem: refuses, as unimplemented, attributes that oneDNN does not
// define for a matmul (its page "Matrix Multiplication") or that none of its implementations takes.
#include "common/attr.hpp"
#include "common/error.hpp"
#include "common/memory_desc.hpp"
#include "common/names.hpp"
#include "matmul/problem/problem.hpp"
#include "zemm/zemm.h"

namespace zemm::matmul {

namespace {

struct context {
    const problem &p;
    int nd, row, column, all;
    zemm_dim_t m, n, k;
};

[[noreturn]] void refuse_mask(const char *what, int mask, const char *allowed) {
    fail(zemm_unimplemented, "%s: mask %d is not one of %s", what, mask, allowed);
}

// Groups along M and N. oneDNN wants K groups that divide K and are multiples of 16 (32 for zero points of
// src) and of one another. zemm takes any, because its segments of K end wherever a parameter changes, and
// the last one where K ends.
void check_group(const char *what, zemm_dim_t group, zemm_dim_t size, const char *dim) {
    if (size == ZEMM_RUNTIME_DIM_VAL)
        return;
    if (group < 1 || size % group != 0)
        fail(zemm_unimplemented, "%s: the group %lld does not divide %s = %lld", what, (long long)group, dim,
             (long long)size);
}

// The groups of an argument's scales or zero points fit its dimensions.
void check_groups(const context &c, const char *what, int arg, const quant_entry &e) {
    if (e.group_ndims == 0)
        return;
    if (arg == ZEMM_ARG_SRC && e.groups[0] != 1)
        fail(zemm_unimplemented, "%s: the group along M is %lld, it must be 1", what, (long long)e.groups[0]);
    if (arg == ZEMM_ARG_DST)
        check_group(what, e.groups[0], c.m, "M");
    if (arg != ZEMM_ARG_SRC)
        check_group(what, e.groups[1], c.n, "N");
}

// Groups of weights along N. A mask may leave N out: oneDNN ignores the group then, later than it checks
// others.
void check_n_group(const context &c, const char *what, const quant_entry &e, bool needs_apply_to_int) {
    const zemm_dim_t group = e.groups[1];
    const std::string along = e.mask & c.column ? "N" : text("N, which mask %d does not cover,", e.mask);
    if (c.n != ZEMM_RUNTIME_DIM_VAL && group > 1 && group < c.n && group % 16 != 0)
        fail(zemm_unimplemented, "%s: the group %lld along %s is not a multiple of 16", what,
             (long long)group, along.c_str());
    if (group > 1 && needs_apply_to_int && !c.p.attr.fpmath_mode.apply_to_int)
        fail(zemm_unimplemented, "%s: the group %lld along %s needs fpmath apply_to_int", what,
             (long long)group, along.c_str());
}

// Types of 8 bits and fewer, whose parameters may have groups.
bool is_narrow(const memory_desc &md) {
    return data_type_bits(md.data_type) <= 8;
}

// Groups of scales of any tensor need one of these types.
bool may_scale_groups(const problem &p) {
    return is_narrow(p.src) || is_narrow(p.wei) || is_small_float(p.dst.data_type);
}

void check_scale_types(const problem &p) {
    for (const auto &[arg, e] : p.attr.scales) {
        if (arg != ZEMM_ARG_SRC && arg != ZEMM_ARG_WEIGHTS && arg != ZEMM_ARG_DST)
            fail(zemm_unimplemented, "scales of argument %d: a matmul has scales of src, weights and dst",
                 arg);
        if (e.mode != zemm_quantization_mode_static_sazp && arg != ZEMM_ARG_DST)
            fail(zemm_unimplemented, "%s scales: quantization mode %s is for dst", tensor_name(arg),
                 zemm_quantization_mode2str(e.mode));
        if (!suits(e.data_type, role::scale) && !p.attr.scale_factors.contains(arg))
            fail(zemm_unimplemented, "%s scales: data type %s is not implemented, %s are", tensor_name(arg),
                 data_type_name(e.data_type), types_for(role::scale).c_str());
        if (e.mask & ~full_mask(p.ndims()))
            fail(zemm_unimplemented, "%s scales: mask %d has bits past the %d dimensions", tensor_name(arg),
                 e.mask, p.ndims());
    }
}

// The masks that src scales and zero points may have: those of oneDNN, and the mask of a quantised
// src with one value per row (all dimensions but K).
void check_src_mask(const context &c, const char *what, int mask) {
    const int rows = c.all & ~c.column;
    for (int allowed : {0, c.row, c.column, c.row | c.column, rows, c.all})
        if (mask == allowed)
            return;
    refuse_mask(what, mask, "common, M, K, M|K, all dimensions and all but K");
}

void check_src_scales(const context &c, const quant_entry &e) {
    check_src_mask(c, "src scales", e.mask);
    if (e.group_ndims == 0)
        return;
    if (!may_scale_groups(c.p))
        fail(zemm_unimplemented,
             "src scales: groups need src or weights of 8 bits or fewer, or an f8 or f4 dst, not %s, %s and "
             "%s",
             data_type_name(c.p.src.data_type), data_type_name(c.p.wei.data_type),
             data_type_name(c.p.dst.data_type));
    if (e.groups[1] > 1 && !is_narrow(c.p.src))
        fail(zemm_unimplemented, "src scales: groups along K need a src of 8 bits or fewer, not %s",
             data_type_name(c.p.src.data_type));
}

void check_wei_scales(const context &c, const quant_entry &e) {
    if (e.group_ndims == 0)
        return;
    if (!is_narrow(c.p.wei) && !is_small_float(c.p.dst.data_type))
        fail(zemm_unimplemented,
             "weights scales: groups need weights of 8 bits or fewer, or an f8 or f4 dst, not %s and %s",
             data_type_name(c.p.wei.data_type), data_type_name(c.p.dst.data_type));
    if (e.mask & c.column)
        check_n_group(c, "weights scales", e, false);
}

// Scales that are results: OCP MX and NVFP4.
void check_dynamic_scales(const context &c, const quant_entry &e) {
    const auto [type, group] = float_scaling_of(e.mode);
    if (e.mask != c.all || e.data_type != type || e.group_ndims != 2 || e.groups[0] != 1 ||
        e.groups[1] != group)
        fail(zemm_unimplemented,
             "dst scales: quantization mode %s needs the mask %d, the type %s and groups of 1x%lld",
             zemm_quantization_mode2str(e.mode), c.all, data_type_name(type), (long long)group);
    if (e.is_on_host)
        fail(zemm_unimplemented,
             "dst scales: quantization mode %s writes them, so they cannot be on the host",
             zemm_quantization_mode2str(e.mode));
}

void check_dst_scales(const context &c, const quant_entry &e) {
    if (e.mask != 0 && e.mask != c.column && e.mask != c.row && e.mask != (c.row | c.column) &&
        e.mask != c.all)
        refuse_mask("dst scales", e.mask, "common, N, M, M|N and all dimensions");
    if (e.mode != zemm_quantization_mode_static_sazp)
        check_dynamic_scales(c, e);
    if (e.group_ndims == 0)
        return;
    if (!is_narrow(c.p.wei) && !is_small_float(c.p.dst.data_type))
        fail(zemm_unimplemented,
             "dst scales: groups need weights of 8 bits or fewer, or an f8 or f4 dst, not %s and %s",
             data_type_name(c.p.wei.data_type), data_type_name(c.p.dst.data_type));
}

// Zero points of src and dst need src or weights of 8 bits or fewer.
void check_narrow_operand(const context &c, const char *what) {
    if (!is_narrow(c.p.src) && !is_narrow(c.p.wei))
        fail(zemm_unimplemented, "%s need src or weights of 8 bits or fewer, not %s and %s", what,
             data_type_name(c.p.src.data_type), data_type_name(c.p.wei.data_type));
}

void check_wei_zero_points(const context &c, const quant_entry &e) {
    if (!is_narrow(c.p.wei))
        fail(zemm_unimplemented, "weights zero points need weights of 8 bits or fewer, not %s",
             data_type_name(c.p.wei.data_type));
    if (is_floating(e.data_type) && !is_integer(c.p.wei.data_type))
        fail(zemm_unimplemented, "weights zero points of type %s need integer weights, not %s",
             data_type_name(e.data_type), data_type_name(c.p.wei.data_type));
    if (e.mask & c.column)
        check_n_group(c, "weights zero points", e, true);
    const int span = span_of(e.data_type);
    for (int d : {c.nd - 2, c.nd - 1}) {
        const zemm_dim_t size = c.p.wei.dims[d];
        if ((e.mask >> d & 1) && size % span != 0)
            fail(zemm_unimplemented, "weights zero points: %s ones need a multiple of %d as %s, not %lld",
                 data_type_name(e.data_type), span, d == c.nd - 2 ? "K" : "N", (long long)size);
    }
}

void check_zero_points(const context &c) {
    for (const auto &[arg, e] : c.p.attr.zero_points) {
        if (e.mask & ~c.all)
            fail(zemm_unimplemented, "%s zero points: mask %d has bits past the %d dimensions",
                 tensor_name(arg), e.mask, c.nd);
        switch (arg) {
        case ZEMM_ARG_SRC:
            check_narrow_operand(c, "src zero points");
            check_src_mask(c, "src zero points", e.mask);
            break;
        case ZEMM_ARG_WEIGHTS:
            check_wei_zero_points(c, e);
            break;
        case ZEMM_ARG_DST:
            check_narrow_operand(c, "dst zero points");
            if (e.mask != 0 && !(c.nd == 2 && e.mask == c.column))
                refuse_mask("dst zero points", e.mask, "common, and N in two dimensions");
            break;
        default:
            fail(zemm_unimplemented, "zero points of argument %d: a matmul has those of src, weights and dst",
                 arg);
        }
    }
}

// The name of the tensor that problem::zero_point() gives for the weights.
const char *name_of_wei_zp(const problem &p) {
    return p.has_offsets() ? "weights offsets" : "weights zero points";
}

// An extension of zemm: masks and groups as those of zero points of the weights.
void check_offsets(const context &c) {
    const quant_entry *e = find_entry(c.p.attr.offsets, ZEMM_ARG_WEIGHTS);
    if (!e)
        return;
    if (!is_narrow_int(c.p.wei.data_type))
        fail(zemm_unimplemented, "weights offsets need weights of a type among %s, not %s",
             types_where(is_narrow_int).c_str(), data_type_name(c.p.wei.data_type));
    if (c.p.attr.zero_points.contains(ZEMM_ARG_WEIGHTS))
        fail(zemm_invalid_arguments, "weights have zero points and offsets: leave the zero points out and "
                                     "pass offsets less scale * zero "
                                     "point, which gives the same weights");
    if (e->mask & ~c.all)
        fail(zemm_unimplemented, "weights offsets: mask %d has bits past the %d dimensions", e->mask, c.nd);
    if (e->mask & c.column)
        check_n_group(c, "weights offsets", *e, true);
}

// An extension of zemm. of: the scales or offsets, `what`, that have the factors e.
void check_factors(const context &c, const char *what, const quant_entry *e, const quant_entry *of) {
    if (!e)
        return;
    const std::string name = text("weights %s factors", what);
    if (!of)
        fail(zemm_invalid_arguments, "%s: there are no %ss of the weights to multiply", name.c_str(), what);
    if (!is_int8(of->data_type))
        fail(zemm_unimplemented, "%s: the weights %ss are %s, with factors they must be s8 or u8",
             name.c_str(), what, data_type_name(of->data_type));
    if (e->mask & ~of->mask)
        fail(zemm_unimplemented, "%s: mask %d has bits that the mask %d of the %ss has not", name.c_str(),
             e->mask, of->mask, what);
    const zemm_dim_t group = k_group(c.p, *e, true), inner = k_group(c.p, *of, true);
    if (c.k != ZEMM_RUNTIME_DIM_VAL && group != c.k && group % inner != 0)
        fail(zemm_unimplemented, "%s: the K group %lld is not a multiple of the group %lld of the %ss",
             name.c_str(), (long long)group, (long long)inner, what);
    if (c.k > 0 && inner == c.k && of == c.p.scale(ZEMM_ARG_WEIGHTS))
        fail(zemm_unimplemented,
             "%s: the scales need several groups along K, not one of all %lld elements: multiply them by the "
             "factors",
             name.c_str(), (long long)c.k);
    check_n_group(c, name.c_str(), *e, false);
}

// Groups of reductions divide the K groups of the others. Those that are too large are invalid to oneDNN, if
// it takes the other group, and that is no value for each element of K: it takes these, though no sum over a
// group serves them. status: which of the two kinds of groups to refuse.
void check_reduction_groups(const context &c, zemm_status_t status) {
    const quant_entry *e = c.p.reduction();
    if (!e || e->group_ndims == 0)
        return;
    const quant_entry *src_zp = c.p.zero_point(ZEMM_ARG_SRC), *wei_zp = c.p.zero_point(ZEMM_ARG_WEIGHTS);
    const zemm_dim_t group = e->groups[1];
    const auto compare = [&](const char *name, const quant_entry *other, bool k_is_row) {
        if (!other || !(other->mask & (k_is_row ? c.row : c.column)))
            return;
        const zemm_dim_t other_group = k_group(c.p, *other, k_is_row), unit = other == src_zp ? 32 : 16;
        const bool is_taken = other_group == 1 || other_group == c.k || other_group % unit == 0;
        const bool is_invalid =
            other->group_ndims != 0 && is_taken && (group > other_group || other == wei_zp);
        const bool fits = other_group % group == 0 || other_group == c.k; // the only group: of all sums
        if (!fits && is_invalid == (status == zemm_invalid_arguments))
            fail(status, "precomputed reductions: the group %lld must divide the K group %lld of the %s",
                 (long long)group, (long long)other_group, name);
    };
    compare("src scales", c.p.scale(ZEMM_ARG_SRC), false);
    compare("weights scales", c.p.scale(ZEMM_ARG_WEIGHTS), true);
    compare("src zero points", src_zp, false);
    compare(name_of_wei_zp(c.p), wei_zp, true);
}

void check_reductions(const context &c) {
    for (const auto &[arg, e] : c.p.attr.precomputed_reductions)
        if (arg != ZEMM_ARG_SRC)
            fail(zemm_invalid_arguments, "precomputed reductions of argument %d: a matmul has those of src",
                 arg);
    const quant_entry *e = c.p.reduction();
    if (!e)
        return;
    if (!c.p.integer())
        fail(zemm_unimplemented, "precomputed reductions need an s8 or u8 src, not %s",
             data_type_name(c.p.src.data_type));
    if (!c.p.zero_point(ZEMM_ARG_WEIGHTS))
        fail(zemm_unimplemented,
             "precomputed reductions need weights zero points: there is nothing to apply them to");
    if (e->mask != c.all)
        fail(zemm_unimplemented, "precomputed reductions: mask %d must cover every dimension of src (%d)",
             e->mask, c.all);
    check_reduction_groups(c, zemm_invalid_arguments);
}

// Row-major without gaps, as far as strides are known. Strides of dimensions of 1 may be any.
bool is_row_major(const memory_desc &md) {
    zemm_dim_t stride = 1;
    for (int d = md.ndims - 1; d >= 0; --d) {
        const bool is_known = md.strides[d] != ZEMM_RUNTIME_DIM_VAL && stride != ZEMM_RUNTIME_DIM_VAL;
        if (is_known && md.dims[d] != 1 && md.strides[d] != stride)
            return false;
        stride = runtime_product(stride, md.dims[d] == 0 ? 1 : md.dims[d]);
    }
    return md_is_plain(md);
}

// The number of an element depends on its place in dst's memory, and oneDNN wants these to be in order.
void check_dropout(const problem &p) {
    const memory_desc &mask = p.attr.dropout.mask;
    if (p.dst.format_kind != zemm_format_kind_any && !is_row_major(p.dst))
        fail(zemm_unimplemented, "dropout needs a row-major dst without gaps, not %s",
             md_sentence(p.dst).c_str());
    if (md_is_zero(mask))
        return;
    if (md_has_runtime(mask) || md_has_runtime(p.dst))
        fail(zemm_unimplemented, "dropout: a mask needs dimensions and strides of dst that are known");
    if (dims_text(mask) != dims_text(p.dst))
        fail(zemm_unimplemented, "dropout: the mask has dims %s, dst has %s", dims_text(mask).c_str(),
             dims_text(p.dst).c_str());
}

// Only modes other than environment are kept.
void check_rounding(const problem &p, int arg) {
    const zemm_data_type_t dt = p.dst.data_type;
    if (arg != ZEMM_ARG_DST)
        fail(zemm_unimplemented, "stochastic rounding of argument %d: a matmul rounds dst", arg);
    if (dt != zemm_f32 && data_type_bits(dt) > 16)
        fail(zemm_unimplemented,
             "stochastic rounding cuts the digits of an f32: dst must not have more than these 24, as %s has",
             data_type_name(dt));
}

void check_reduced_range(const problem &p) {
    for (int arg : p.attr.reduced_range)
        if (arg != ZEMM_ARG_SRC)
            fail(zemm_invalid_arguments, "reduced range of %s: a matmul has that of src", tensor_name(arg));
    if (p.has_reduced_src() && !p.integer())
        fail(zemm_unimplemented, "a reduced range of src needs an s8 or u8 src, not %s",
             data_type_name(p.src.data_type));
}

void check_modes(const problem &p) {
    check_reduced_range(p);
    check_saturation(p.attr, p.dst.data_type);
    if (p.attr.dropout.is_on)
        check_dropout(p);
    for (const auto &[arg, mode] : p.attr.rounding)
        check_rounding(p, arg);
    if (p.attr.accumulation_mode == zemm_accumulation_mode_s32 && !p.integer())
        fail(zemm_unimplemented, "accumulation mode s32 needs an s8 or u8 src, not %s",
             data_type_name(p.src.data_type));
}

// Each implementation of oneDNN checks this for itself, after its common checks.
void check_groups_of_all(const context &c) {
    const quant_entry *src_scales = c.p.scale(ZEMM_ARG_SRC), *wei_scales = c.p.scale(ZEMM_ARG_WEIGHTS);
    const quant_entry *wei_zp = c.p.zero_point(ZEMM_ARG_WEIGHTS);
    if (wei_scales && !(wei_scales->mask & c.column))
        check_n_group(c, "weights scales", *wei_scales, false);
    if (wei_zp && !(wei_zp->mask & c.column))
        check_n_group(c, name_of_wei_zp(c.p), *wei_zp, true);
    if (src_scales && (src_scales->mask & c.column) && src_scales->group_ndims == 0)
        fail(zemm_unimplemented, "src scales: mask %d covers K, which needs groups", src_scales->mask);
    if (wei_scales && (wei_scales->mask & c.row) && c.p.weight_only() && !c.p.attr.fpmath_mode.apply_to_int)
        fail(zemm_unimplemented,
             "weights scales: mask %d covers K, which needs an integer src or fpmath apply_to_int",
             wei_scales->mask);
    const auto check_all = [&](const quant_map &entries, const char *name) {
        for (const auto &[arg, e] : entries)
            check_groups(c, text("%s %s", tensor_name(arg), name).c_str(), arg, e);
    };
    check_all(c.p.attr.scales, "scales");
    check_all(c.p.attr.zero_points, "zero points");
    check_all(c.p.attr.offsets, "offsets");
    check_all(c.p.attr.scale_factors, "scale factors");
    check_all(c.p.attr.offset_factors, "offset factors");
    if (const quant_entry *e = c.p.reduction())
        check_groups(c, "precomputed reductions", ZEMM_ARG_SRC, *e);
    check_reduction_groups(c, zemm_unimplemented);
}

} // namespace

void check_attributes(const problem &p) {
    const int nd = p.ndims();
    const context c{p, nd, row_bit(nd), column_bit(nd), full_mask(nd), p.m(), p.n(), p.k()};
    check_scale_types(p);
    if (const quant_entry *e = p.scale(ZEMM_ARG_SRC))
        check_src_scales(c, *e);
    if (const quant_entry *e = p.scale(ZEMM_ARG_WEIGHTS))
        check_wei_scales(c, *e);
    if (const quant_entry *e = p.scale(ZEMM_ARG_DST))
        check_dst_scales(c, *e);
    check_zero_points(c);
    check_offsets(c);
    check_factors(c, "scale", p.scale_factor(), p.scale(ZEMM_ARG_WEIGHTS));
    check_factors(c, "offset", p.offset_factor(), find_entry(p.attr.offsets, ZEMM_ARG_WEIGHTS));
    check_reductions(c);
    int index = 0;
    for (const post_op &op : p.attr.post_ops.entries)
        check_post_op(op, index++, p.dst, p.integer());
    check_modes(p);
    check_groups_of_all(c);
}

} // namespace zemm::matmul
