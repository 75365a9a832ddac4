// SPDX-License-Identifier: Apache-2.0
// Makes the problem of a caller: checks it and gives tensors of format any their layouts.
#include <algorithm>
#include <array>
#include <numeric>

#include "common/error.hpp"
#include "common/names.hpp"
#include "matmul/problem/packed_weights.hpp"
#include "matmul/problem/problem.hpp"
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

} // namespace zemm::matmul
