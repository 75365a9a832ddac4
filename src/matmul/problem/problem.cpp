// SPDX-License-Identifier: Apache-2.0
#include "matmul/problem/problem.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "common/attr.hpp"
#include "common/error.hpp"
#include "common/md_check.hpp"
#include "common/memory_desc.hpp"
#include "common/names.hpp"
#include "matmul/problem/packed_weights.hpp"
#include "matmul/problem/quantized_src.hpp"

namespace zemm::matmul {

namespace {

void resolve_any(const char *name, memory_desc &md) {
    try {
        md_resolve_any(md);
    } catch (const error &e) {
        fail(e.status(), "%s %s %s: %s", name, data_type_name(md.data_type), dims_text(md).c_str(), e.what());
    }
}

// The problem after src was quantised, as a caller would ask for it: sums are for zero points.
problem checked_quantized(const problem &p) {
    check_quantized_src(p);
    problem made = with_quantized_src(p);
    made.attr.precomputed_reductions.clear();
    return made;
}

} // namespace

void resolve_like(memory_desc &md, const memory_desc &dst) {
    const bool is_any = md.format_kind == zemm_format_kind_any;
    md_resolve_any(md);
    if (!is_any || !md_is_plain(dst))
        return;
    const auto stride_of = [&](int d) { // a runtime stride is at least as large as the known ones
        return dst.strides[d] == runtime_dim ? INT64_MAX : dst.strides[d];
    };
    std::array<int, ZEMM_MAX_NDIMS> order; // innermost first
    std::iota(order.begin(), order.begin() + md.ndims, 0);
    std::stable_sort(order.begin(), order.begin() + md.ndims, [&](int a, int b) {
        return stride_of(a) != stride_of(b) ? stride_of(a) < stride_of(b) : a > b;
    });
    zemm_dim_t stride = 1;
    for (int i = 0; i < md.ndims; ++i) {
        md.strides[order[i]] = stride;
        stride *= md.dims[order[i]];
    }
}

zemm_dim_t problem::batch() const {
    zemm_dim_t product = 1;
    for (int d = 0; d < ndims() - 2; ++d)
        product *= dst.dims[d];
    return product;
}

bool problem::empty() const {
    return md_nelems(src) == 0 || md_nelems(wei) == 0 || md_nelems(dst) == 0;
}

const memory_desc &problem::tensor(int arg) const {
    switch (arg) {
    case ZEMM_ARG_SRC:
        return src;
    case ZEMM_ARG_WEIGHTS:
        return wei;
    case ZEMM_ARG_BIAS:
        return bias;
    default:
        return dst;
    }
}

const quant_entry *problem::scale(int arg) const {
    return find_entry(attr.scales, arg);
}
const quant_entry *problem::zero_point(int arg) const {
    const quant_entry *offset = find_entry(attr.offsets, arg);
    return offset ? offset : find_entry(attr.zero_points, arg);
}
bool problem::has_float_zero_points() const {
    const quant_entry *entry = zero_point(ZEMM_ARG_WEIGHTS);
    return entry && is_floating(entry->data_type);
}
const quant_entry *problem::reduction() const {
    return find_entry(attr.precomputed_reductions, ZEMM_ARG_SRC);
}

problem unchecked_problem(const memory_desc &src, const memory_desc &wei, const memory_desc *bias,
                          const memory_desc &dst, const zemm_primitive_attr *attr) {
    problem p;
    p.src = src;
    p.wei = wei;
    p.dst = dst;
    if (bias)
        p.bias = *bias;
    if (attr)
        p.attr = *attr;
    return p;
}

problem make_problem(const memory_desc &src, const memory_desc &wei, const memory_desc *bias,
                     const memory_desc &dst, const zemm_primitive_attr *attr) {
    problem p = unchecked_problem(src, wei, bias, dst, attr);
    check_shapes(p);
    check_attributes(p.quantizes_src() ? checked_quantized(p) : p);
    check_sparse(p); // after these, as in oneDNN
    const auto is_any = [](const memory_desc &md) { return md.format_kind == zemm_format_kind_any; };
    p.was_any = {is_any(p.src), is_any(p.wei), is_any(p.bias), is_any(p.dst)};
    resolve_any("src", p.src);
    // Weights keep format any: each kernel chooses a layout. Packed ones get theirs, whatever the caller's
    // is.
    if (is_sparse_packed(p.wei))
        p.wei = with_packed_layout(p.wei);
    resolve_any("bias", p.bias);
    resolve_any("dst", p.dst);
    if (!md_is_zero(p.attr.dropout.mask))
        resolve_like(p.attr.dropout.mask, p.dst);
    for (post_op &op : p.attr.post_ops.entries) {
        if (is_in_place(op))
            op.src1 = p.dst;
        resolve_like(op.src1, p.dst);
        resolve_like(op.src2, p.dst);
    }
    check_support(p);
    return p;
}

zemm_dim_t k_group(const problem &p, const quant_entry &entry, bool k_is_row) {
    return k_is_row ? group_along(p.wei, entry, p.ndims() - 2) : group_along(p.src, entry, p.ndims() - 1);
}

zemm_dim_t shared_k_group(const problem &p, std::initializer_list<zemm_dim_t> groups) {
    zemm_dim_t shared = 0;
    for (zemm_dim_t group : groups)
        shared = group == p.k() ? shared : std::gcd(shared, group);
    return shared == 0 ? p.k() : shared;
}

std::string dims_line(const problem &p) {
    // A grouped tensor is a batch to the kernels, but not to the caller.
    const auto line = [](const memory_desc &md, bool is_grouped) {
        return is_grouped ? dims_text(md.ndims - 1, md.dims + 1) : dims_text(md);
    };
    return line(p.src, p.grouped != grouping::none) + ":" + line(p.wei, p.grouped == grouping::k);
}

} // namespace zemm::matmul
