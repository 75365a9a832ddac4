// SPDX-License-Identifier: Apache-2.0
// Checks of a reorder's tensors and attributes. Arguments that make no reorder are
// invalid_arguments; reorders that zemm does not have are unimplemented.
#include "common/error.hpp"
#include "common/names.hpp"
#include "primitive/refusals.hpp"
#include "reorder/problem.hpp"
#include "reorder/sparse.hpp"

namespace zemm::reorder {

namespace {

void check_tensor(const char *name, const memory_desc &md) {
    if (md.ndims == 0)
        fail(zemm_invalid_arguments, "%s has no dimensions", name);
    if (md.format_kind == zemm_format_kind_any)
        fail(zemm_invalid_arguments, "%s has the tag any: a reorder needs to know both layouts", name);
    if (md.format_kind == zemm_format_kind_host_scalar)
        fail(zemm_invalid_arguments, "%s is a host scalar, a reorder takes tensors", name);
    if (md_is_sparse(md))
        check_sparse(name, md);
    refuse_extra(name, md);
    refuse_huge(name, md);
}

void check_entry(const problem &p, int arg, const quant_entry &e, const char *what) {
    const memory_desc &md = p.tensor(arg);
    const std::string name = text("%s %s", tensor_name(arg), what);
    if (e.mask >> md.ndims)
        fail(zemm_invalid_arguments, "%s: mask %d has bits past the %d dimensions", name.c_str(), e.mask,
             md.ndims);
    if (e.group_ndims == 0)
        return;
    if (md.ndims < 2)
        fail(zemm_invalid_arguments, "%s: groups need two dimensions or more, the tensor has 1",
             name.c_str());
    for (int i = 0; i < 2; ++i) {
        const int d = md.ndims - 2 + i;
        if (!(e.mask >> d & 1))
            fail(zemm_invalid_arguments,
                 "%s: groups %lldx%lld need a mask with the last two dimensions, which %d lacks",
                 name.c_str(), (long long)e.groups[0], (long long)e.groups[1], e.mask);
    }
}

void check_arg(int arg, const char *what) {
    if (arg != ZEMM_ARG_SRC && arg != ZEMM_ARG_DST)
        fail(zemm_unimplemented, "%s of argument %d (%s): a reorder has those of src and dst", what, arg,
             arg_text(arg).c_str());
}

void check_scales(const problem &p) {
    for (const auto &[arg, e] : p.attr.scales) {
        check_arg(arg, "scales");
        check_entry(p, arg, e, "scales");
        if (!suits(e.data_type, role::scale))
            fail(zemm_unimplemented, "%s scales: data type %s is not implemented, %s are", tensor_name(arg),
                 data_type_name(e.data_type), types_for(role::scale).c_str());
        if (arg == ZEMM_ARG_SRC && e.mode != zemm_quantization_mode_static_sazp)
            fail(zemm_unimplemented, "src scales: quantization mode %s is for dst",
                 quantization_mode_name(e.mode));
        if (arg == ZEMM_ARG_SRC && is_small_int(p.src.data_type) && e.mask == 0)
            fail(zemm_invalid_arguments, "src scales: those of a %s src need a mask",
                 data_type_name(p.src.data_type));
    }
}

void check_zero_points(const problem &p) {
    for (const auto &[arg, e] : p.attr.zero_points) {
        check_arg(arg, "zero points");
        check_entry(p, arg, e, "zero points");
        if (!is_integer(p.tensor(arg).data_type))
            fail(zemm_invalid_arguments, "%s zero points need an integer %s, not %s", tensor_name(arg),
                 tensor_name(arg), data_type_name(p.tensor(arg).data_type));
    }
}

void check_post_ops(const problem &p) {
    if (p.attr.post_ops.entries.size() > 1)
        fail(zemm_unimplemented, "%zu post-ops: a reorder takes one sum", p.attr.post_ops.entries.size());
    const post_op *op = p.sum();
    if (!op)
        return;
    if (op->kind != zemm_sum)
        fail(zemm_unimplemented, "post-op 0 is a %s: a reorder takes one sum", primitive_kind_name(op->kind));
    if (op->zero_point != 0)
        fail(zemm_unimplemented,
             "post-op 0: sum's zero point %d is not implemented (dst's own zero point is subtracted)",
             op->zero_point);
    if (op->data_type != zemm_data_type_undef && op->data_type != p.dst.data_type)
        fail(zemm_unimplemented, "post-op 0: sum reads dst as %s, which is not dst's %s",
             data_type_name(op->data_type), data_type_name(p.dst.data_type));
}

// Only modes other than environment are kept.
void check_rounding(const problem &p) {
    if (p.attr.rounding.empty())
        return;
    const zemm_data_type_t s = p.src.data_type, d = p.dst.data_type;
    const bool is_f8 = d == zemm_f8_e5m2 || d == zemm_f8_e4m3;
    if (!p.rounds_at_random() || p.attr.rounding.size() > 1 || !is_f8 || is_small_float(s) ||
        !is_floating(s) || data_type_bits(s) > 32)
        fail(zemm_unimplemented,
             "stochastic rounding of a reorder is for dst, from f32, f16 or bf16 to f8, not from %s to %s",
             data_type_name(s), data_type_name(d));
    if (p.is_dynamic() || md_is_sparse(p.src) || md_is_sparse(p.dst))
        fail(zemm_unimplemented, "stochastic rounding excludes dynamic scales and sparse tensors");
}

} // namespace

void check_tensors(const problem &p) {
    check_tensor("src", p.src);
    check_tensor("dst", p.dst);
    bool same = p.src.ndims == p.dst.ndims;
    for (int d = 0; same && d < p.src.ndims; ++d)
        same = p.src.dims[d] == p.dst.dims[d];
    if (!same)
        fail(zemm_invalid_arguments, "the dimensions differ: src has %s, dst has %s",
             dims_text(p.src).c_str(), dims_text(p.dst).c_str());
    if (!md_is_sparse(p.dst))
        refuse_shared_places(p.dst, "elements");
    if ((md_is_sparse(p.src) || md_is_sparse(p.dst)) && p.has_runtime())
        fail(zemm_unimplemented, "a reorder from or to a sparse tensor needs known dimensions and strides");
}

void check_attributes(const problem &p) {
    refuse_missing(p.attr, operation::reorder);
    check_rounding(p);
    check_saturation(p.attr, p.dst.data_type);
    check_scales(p);
    check_zero_points(p);
    check_post_ops(p);
    if ((md_is_sparse(p.src) || md_is_sparse(p.dst)) && p.is_dynamic())
        fail(zemm_unimplemented, "dynamic dst scales need dense tensors");
    if (md_is_sparse(p.dst) && p.sum())
        fail(zemm_unimplemented, "post-op 0: sum needs a dense dst, not the %s encoding",
             sparse_encoding_name(p.dst.encoding));
    if (!p.is_dynamic() && !p.attr.precomputed_reductions.empty())
        fail(zemm_unimplemented,
             "precomputed reductions of a reorder belong to a dst with dynamic_fp scales");
    if (p.attr.reduced_range.contains(ZEMM_ARG_SRC))
        fail(zemm_invalid_arguments, "reduced range of src: a reorder has that of dst");
    if (p.has_reduced_dst() && !(p.is_dynamic() && is_int8(p.dst.data_type)))
        fail(zemm_unimplemented, "a reduced range of dst needs an s8 or u8 dst with dynamic_fp scales");
    if (p.is_copy())
        return; // a copy takes every data type
    for (int arg : {ZEMM_ARG_SRC, ZEMM_ARG_DST})
        if (!is_converted(p.tensor(arg).data_type))
            fail(zemm_unimplemented,
                 "%s: conversion of data type %s is not implemented (that of %s is; others only to "
                 "themselves, without attributes)",
                 tensor_name(arg), data_type_name(p.tensor(arg).data_type),
                 types_where(is_converted).c_str());
}

} // namespace zemm::reorder
