// SPDX-License-Identifier: Apache-2.0
#include "inner_product/problem.hpp"

#include "common/error.hpp"
#include "common/md_ops.hpp"
#include "common/names.hpp"
#include "matmul/problem/problem.hpp"
#include "primitive/refusals.hpp"

namespace zemm::inner_product {

namespace {

bool is_any(const memory_desc &md) {
    return md.format_kind == zemm_format_kind_any;
}

struct named {
    const char *name;
    const memory_desc &md;
};

void check_kinds(const std::vector<named> &tensors, zemm_prop_kind_t prop_kind) {
    if (prop_kind != zemm_forward_training && prop_kind != zemm_forward_inference)
        fail(zemm_invalid_arguments, "prop_kind is %s, it must be forward_training or forward_inference",
             prop_kind_name(prop_kind));
    for (const auto &[name, md] : tensors)
        if (md.format_kind == zemm_format_kind_host_scalar)
            fail(zemm_invalid_arguments, "%s is a host scalar, an inner product takes tensors", name);
    for (const auto &[name, md] : tensors) {
        if (md_has_runtime(md))
            fail(zemm_unimplemented, "%s: an inner product has no runtime dimensions and strides", name);
        refuse_sparse(name, md);
        refuse_extra(name, md);
        refuse_huge(name, md);
    }
}

void check_dim(const named &a, int a_dim, const named &b, int b_dim) {
    if (a.md.dims[a_dim] != b.md.dims[b_dim])
        fail(zemm_invalid_arguments,
             "dimension %d of %s and dimension %d of %s differ: %s has dims %s, %s has dims %s", a_dim,
             a.name, b_dim, b.name, a.name, dims_text(a.md).c_str(), b.name, dims_text(b.md).c_str());
}

void check_shapes(const named &src, const named &wei, const named &bias, const named &dst) {
    const zemm_data_type_t s = src.md.data_type, w = wei.md.data_type, d = dst.md.data_type;
    if (matmul::accumulation_type(matmul::unchecked_problem(src.md, wei.md, nullptr, dst.md, nullptr)) ==
        zemm_data_type_undef)
        fail(zemm_invalid_arguments, "no accumulation type for src %s, weights %s, dst %s", data_type_name(s),
             data_type_name(w), data_type_name(d));
    if (md_nelems(wei.md) == 0)
        fail(zemm_invalid_arguments, "weights have no elements: their dims are %s",
             dims_text(wei.md).c_str());
    if (src.md.ndims < 2 || src.md.ndims > 5)
        fail(zemm_invalid_arguments, "src has %d dimensions, an inner product takes 2 to 5", src.md.ndims);
    if (dst.md.ndims != 2)
        fail(zemm_invalid_arguments, "dst has %d dimensions, not 2", dst.md.ndims);
    if (wei.md.ndims != src.md.ndims)
        fail(zemm_invalid_arguments, "weights have %d dimensions (%s), src has %d (%s)", wei.md.ndims,
             dims_text(wei.md).c_str(), src.md.ndims, dims_text(src.md).c_str());
    if (!md_is_zero(bias.md)) {
        if (bias.md.ndims != 1)
            fail(zemm_invalid_arguments, "bias has %d dimensions, not 1", bias.md.ndims);
        check_dim(bias, 0, dst, 1);
    }
    check_dim(src, 0, dst, 0);
    for (int i = 1; i < src.md.ndims; ++i)
        check_dim(src, i, wei, i);
    check_dim(dst, 1, wei, 0);
}

// what: "scales" or "zero points". Masks and the rest are those of oneDNN's inner product; its own zero
// points are those of the matmul.
void check_entries(const char *what, const quant_map &entries, zemm_data_type_t src) {
    if (!entries.empty() && !is_int8(src))
        fail(zemm_unimplemented, "%s of an inner product need an s8 or u8 src, not %s", what,
             data_type_name(src));
    for (const auto &[arg, e] : entries) {
        if (arg != ZEMM_ARG_SRC && arg != ZEMM_ARG_WEIGHTS && arg != ZEMM_ARG_DST)
            fail(zemm_unimplemented, "%s of argument %d: an inner product has those of src, weights and dst",
                 what, arg);
        if (e.mask != 0 && !(e.mask == 1 && arg == ZEMM_ARG_WEIGHTS))
            fail(zemm_unimplemented, "%s %s: mask %d is not %s", tensor_name(arg), what, e.mask,
                 arg == ZEMM_ARG_WEIGHTS ? "0 (common) or 1 (per output channel)" : "0 (common)");
        if (e.group_ndims != 0)
            fail(zemm_unimplemented, "%s %s: an inner product has no groups", tensor_name(arg), what);
        if (e.mode != zemm_quantization_mode_static_sazp)
            fail(zemm_unimplemented, "%s %s: an inner product has no quantization mode %s", tensor_name(arg),
                 what, quantization_mode_name(e.mode));
    }
}

void check_attributes(const zemm_primitive_attr &attr, zemm_data_type_t src) {
    check_entries("scales", attr.scales, src);
    check_entries("zero points", attr.zero_points, src);
    refuse_missing(attr, operation::inner_product);
}

bool is_flat(const memory_desc &md, const dim_order &order) {
    return flatten(md, order).has_value();
}

// The order of the tensor if it is a matrix in that order.
std::optional<dim_order> own_order(const memory_desc &md) {
    if (is_any(md))
        return {};
    const dim_order order = order_of(md);
    return is_flat(md, order) ? std::optional(order) : std::nullopt;
}

// Weights are not copied if that can be avoided, as they are mostly larger than src.
std::vector<dim_order> orders_of(const memory_desc &src, const memory_desc &wei) {
    const auto of_src = own_order(src), of_wei = own_order(wei);
    if (of_src && (!of_wei || is_flat(wei, *of_src)))
        return {*of_src};
    if (of_wei)
        return {*of_wei};
    if (!is_any(wei))
        return {row_major(src.ndims)};
    return {channels_last(src.ndims), row_major(src.ndims)};
}

} // namespace

problem make_problem(zemm_prop_kind_t prop_kind, const memory_desc &src, const memory_desc &wei,
                     const memory_desc *bias, const memory_desc &dst, const zemm_primitive_attr *attr) {
    problem p = {prop_kind, src, wei, bias ? *bias : memory_desc(), dst};
    const named tensors[] = {{"src", p.src}, {"weights", p.wei}, {"bias", p.bias}, {"dst", p.dst}};
    check_kinds({tensors, std::end(tensors)}, prop_kind);
    check_shapes(tensors[0], tensors[1], tensors[2], tensors[3]);
    if (attr)
        check_attributes(*attr, p.src.data_type);
    p.was_any = {is_any(p.src), is_any(p.wei), is_any(p.bias), is_any(p.dst)};
    md_resolve_any(p.bias);
    md_resolve_any(p.dst);
    p.orders = orders_of(p.src, p.wei);
    return p;
}

matrix matrix_of(const memory_desc &md, const dim_order &order) {
    if (const auto flat = flatten(md, order))
        return {*flat, {}};
    const memory_desc copy = dense_in(order, md);
    return {*flatten(copy, order), copy};
}

memory_desc transposed(const memory_desc &matrix) {
    const int other[] = {1, 0};
    return md_permute_axes(matrix, other);
}

zemm_primitive_attr with_transposed_masks(zemm_primitive_attr attr) {
    for (quant_map *entries : {&attr.scales, &attr.zero_points}) {
        const auto found = entries->find(ZEMM_ARG_WEIGHTS);
        if (found != entries->end() && found->second.mask != 0)
            found->second.mask ^= 3; // the bits of two dimensions
    }
    return attr;
}

} // namespace zemm::inner_product
