// SPDX-License-Identifier: Apache-2.0
#include "matmul/problem/grouped.hpp"

#include <algorithm>

#include "common/error.hpp"
#include "common/names.hpp"
#include "primitive/refusals.hpp"

namespace zemm::matmul {

namespace {

zemm_dim_t group_count(const problem &asked) {
    return asked.src.group_count;
}

void check_grouped_tensor(const char *name, const memory_desc &md, const problem &asked, int variable_dim) {
    if (!md_is_grouped(md))
        fail(zemm_unimplemented, "%s: must be grouped along dimension %d, as src is grouped along %d", name,
             variable_dim, asked.src.variable_dim);
    if (md.variable_dim != variable_dim)
        fail(zemm_unimplemented, "%s: grouped along dimension %d, not %d, beside a src grouped along %d",
             name, md.variable_dim, variable_dim, asked.src.variable_dim);
    if (md.group_count != group_count(asked))
        fail(zemm_unimplemented, "%s: %lld groups, src has %lld", name, (long long)md.group_count,
             (long long)group_count(asked));
}

// A tensor of three dimensions, the first of which counts the groups.
void check_dense_tensor(const char *name, const memory_desc &md, const problem &asked) {
    if (md.format_kind != zemm_blocked && md.format_kind != zemm_format_kind_any)
        fail(zemm_unimplemented, "%s: must be dense, as src is grouped along dimension %d", name,
             asked.src.variable_dim);
    if (md.ndims != 3)
        fail(zemm_unimplemented, "%s: %d dimensions, beside a src grouped along dimension %d there must be 3",
             name, md.ndims, asked.src.variable_dim);
    if (md_has_runtime(md))
        fail(zemm_unimplemented, "%s: a grouped matmul needs known dimensions and strides", name);
    if (md.dims[0] != group_count(asked))
        fail(zemm_unimplemented, "%s: dims %s, of which the first must be the number of groups, %lld", name,
             dims_text(md).c_str(), (long long)group_count(asked));
}

void check_equal(const char *what, const char *a_name, const memory_desc &a, int a_dim, const char *b_name,
                 const memory_desc &b, int b_dim) {
    if (a.dims[a_dim] != b.dims[b_dim])
        fail(zemm_unimplemented, "%s differs: %s has dims %s, %s has dims %s", what, a_name,
             dims_text(a).c_str(), b_name, dims_text(b).c_str());
}

void check_bias(const problem &asked) {
    const memory_desc &bias = asked.bias;
    if (!asked.has_bias())
        return;
    if (asked.src.variable_dim == 1)
        fail(zemm_unimplemented, "a matmul with groups of K has no bias");
    const zemm_dim_t n = asked.dst.dims[1];
    const bool fits = bias.ndims == 2 && bias.dims[0] == group_count(asked) && bias.dims[1] == n;
    if (!fits || bias.format_kind == zemm_format_kind_sparse || (!md_is_plain(bias) && md_has_runtime(bias)))
        fail(zemm_unimplemented, "bias must be a dense tensor of %lldx%lld (groups x N), not %s",
             (long long)group_count(asked), (long long)n, dims_text(bias).c_str());
}

// The descriptors, without the attributes.
void check_tensors(const problem &asked) {
    const struct {
        const char *name;
        const memory_desc &md;
    } tensors[] = {{"src", asked.src}, {"weights", asked.wei}, {"dst", asked.dst}, {"bias", asked.bias}};
    for (const auto &[name, md] : tensors) {
        if (md.format_kind == zemm_format_kind_host_scalar)
            fail(zemm_invalid_arguments, "%s is a host scalar, a matmul takes tensors", name);
        refuse_extra(name, md);
        refuse_huge(name, md);
    }
    const bool by_rows = asked.src.variable_dim == 0;
    if (by_rows) {
        check_grouped_tensor("dst", asked.dst, asked, 0);
        check_dense_tensor("weights", asked.wei, asked);
    } else {
        check_grouped_tensor("weights", asked.wei, asked, 0);
        check_dense_tensor("dst", asked.dst, asked);
    }
    check_equal("M", "dst", asked.dst, asked.dst.ndims - 2, "src", asked.src, 0);
    check_equal("K", "src", asked.src, 1, "weights", asked.wei, asked.wei.ndims - 2);
    check_equal("N", "dst", asked.dst, asked.dst.ndims - 1, "weights", asked.wei, asked.wei.ndims - 1);
    check_bias(asked);
    if (accumulation_type(asked) == zemm_data_type_undef)
        fail(zemm_unimplemented, "no accumulation type for src %s, weights %s, dst %s",
             data_type_name(asked.src.data_type), data_type_name(asked.wei.data_type),
             data_type_name(asked.dst.data_type));
    if (asked.src.data_type == zemm_f64)
        fail(zemm_unimplemented, "a grouped matmul of f64 is not implemented");
}

void check_post_op(const problem &asked, const post_op &op, int index) {
    if (op.kind == zemm_eltwise)
        return;
    if (op.kind != zemm_binary || computed_alg(op.alg) != zemm_binary_mul)
        fail(zemm_unimplemented,
             "post-op %d: a grouped matmul has eltwise, binary_mul and binary_mul_inplace post-ops, no other "
             "ones",
             index);
    const memory_desc &md = op.src1, &dst = asked.dst;
    if (is_in_place(op))
        return check_in_place(op, dst, index);
    if (md.ndims != dst.ndims)
        fail(zemm_invalid_arguments, "post-op %d: src1 has %d dimensions (%s), dst has %d", index, md.ndims,
             dims_text(md).c_str(), dst.ndims);
    if (md.data_type == zemm_f64)
        fail(zemm_unimplemented, "post-op %d: src1 of a grouped matmul cannot be f64", index);
    const auto is = [&](zemm_dim_t rows, zemm_dim_t columns) {
        return md.dims[0] == rows && md.dims[1] == columns;
    };
    if (md_is_grouped(md)) {
        if (!is(dst.dims[0], dst.dims[1]) || md.group_count != dst.group_count || md.variable_dim != 0)
            fail(zemm_unimplemented,
                 "post-op %d: a grouped src1 must have dst's dims %s and %lld groups along dimension 0, not "
                 "%s "
                 "and %lld along %d",
                 index, dims_text(dst).c_str(), (long long)dst.group_count, dims_text(md).c_str(),
                 (long long)md.group_count, md.variable_dim);
        return;
    }
    if (!is(dst.group_count, 1) && !is(dst.dims[0], 1) && !is(dst.dims[0], dst.dims[1]))
        fail(zemm_unimplemented,
             "post-op %d: src1 must have a value for each group (%lldx1), for each row (%lldx1) or for each "
             "element of dst (%s), not dims %s",
             index, (long long)dst.group_count, (long long)dst.dims[0], dims_text(dst).c_str(),
             dims_text(md).c_str());
    if (md.format_kind == zemm_format_kind_sparse || md_has_runtime(md) ||
        (md.format_kind != zemm_format_kind_any && !md_is_plain(md)))
        fail(zemm_unimplemented,
             "post-op %d: src1 of a grouped matmul has no blocks and known strides, not %s", index,
             md_sentence(md).c_str());
}

// Checks what the batched problem cannot tell, or would tell in its own terms.
void check_grouped_attributes(const problem &asked) {
    const zemm_primitive_attr &attr = asked.attr;
    const auto refuse = [](const char *what) {
        fail(zemm_unimplemented, "a grouped matmul has no %s", what);
    };
    if (asked.quantizes_src())
        refuse("quantisation of src: dynamic_quantize does that before it");
    refuse_missing(attr, operation::grouped);
    if (saturates(attr, asked.dst.data_type))
        refuse("saturation of an f8 dst");
    if (attr.scales.contains(ZEMM_ARG_DST))
        refuse("scales of dst");
    if (attr.zero_points.contains(ZEMM_ARG_DST))
        refuse("zero points of dst");
    if (attr.zero_points.contains(ZEMM_ARG_SRC) && !is_int8(asked.src.data_type))
        refuse("zero points of a floating-point src");
    if (asked.src.variable_dim == 1 &&
        (!attr.scales.empty() || !attr.zero_points.empty() || !attr.precomputed_reductions.empty() ||
         !attr.post_ops.entries.empty()))
        fail(zemm_unimplemented, "a matmul with groups of K has no scales, zero points and post-ops");
    if (asked.src.variable_dim == 1 && !attr.offsets.empty())
        fail(zemm_unimplemented, "a matmul with groups of K has no offsets");
    for (const quant_map *entries : {&attr.scales, &attr.zero_points, &attr.precomputed_reductions}) {
        const quant_entry *e = find_entry(*entries, ZEMM_ARG_SRC);
        if (e && e->mask > 3)
            fail(zemm_unimplemented, "a mask of src is %d: it has bits past the 2 dimensions", e->mask);
        if (e && e->mask == 2 && e->group_ndims == 0)
            fail(zemm_unimplemented, "a mask of src is 2: one value for each element of K needs groups");
        if (e && e->mask != 3 && entries == &attr.precomputed_reductions)
            fail(zemm_unimplemented, "precomputed reductions: mask %d must cover both dimensions of src (3)",
                 e->mask);
    }
    int index = 0;
    for (const post_op &op : attr.post_ops.entries)
        check_post_op(asked, op, index++);
}

// `count` matrices of rows x columns, `step` elements apart. Rows may begin within a byte.
memory_desc batch_of(const memory_desc &md, zemm_dim_t count, zemm_dim_t rows, zemm_dim_t step,
                     zemm_dim_t row_stride, zemm_dim_t column_stride) {
    memory_desc batch;
    batch.ndims = 3;
    batch.data_type = md.data_type;
    batch.format_kind = zemm_blocked;
    batch.offset0 = md.offset0;
    const zemm_dim_t dims[] = {count, rows, md.dims[1]}, strides[] = {step, row_stride, column_stride};
    std::copy_n(dims, 3, batch.dims);
    std::copy_n(dims, 3, batch.padded_dims);
    std::copy_n(strides, 3, batch.strides);
    return batch;
}

// The values of a grouped tensor as `count` matrices in one place. With groups of rows they are
// row-major, else column-major.
memory_desc batch_of_values(const memory_desc &md, zemm_dim_t count) {
    return md.variable_dim == 0 ? batch_of(md, count, md.dims[0], 0, md.dims[1], 1)
                                : batch_of(md, count, md.dims[0], 0, 1, md.dims[0]);
}

// A matrix with a row for each group as matrices of one row.
memory_desc batch_of_rows(const memory_desc &md) {
    return batch_of(md, md.dims[0], 1, md.strides[0], 0, md.strides[1]);
}

void resolve_post_ops(problem &asked) {
    for (post_op &op : asked.attr.post_ops.entries) {
        if (is_in_place(op))
            op.src1 = asked.dst;
        md_resolve_any(op.src1);
    }
}

memory_desc batched_src1(const memory_desc &md, const problem &asked) {
    if (md_is_grouped(md))
        return batch_of_values(md, 1);
    if (md.dims[0] == group_count(asked) && md.dims[1] == 1)
        return batch_of_rows(md);
    return batch_of(md, 1, md.dims[0], 0, md.strides[0], md.strides[1]);
}

problem batched(const problem &asked) {
    problem p;
    p.attr = asked.attr;
    p.attr.scratchpad_mode = zemm_scratchpad_mode_library; // how much is needed is known at execution only
    const zemm_dim_t count = group_count(asked);
    p.src = batch_of_values(asked.src, 1);
    if (asked.src.variable_dim == 0) {
        p.grouped = grouping::rows;
        p.wei = asked.wei;
        p.dst = batch_of_values(asked.dst, count);
        if (asked.has_bias())
            p.bias = batch_of_rows(asked.bias);
    } else {
        p.grouped = grouping::k;
        p.wei = batch_of_values(asked.wei, count);
        p.dst = asked.dst;
    }
    for (quant_map *entries : {&p.attr.scales, &p.attr.zero_points, &p.attr.precomputed_reductions})
        if (const auto found = entries->find(ZEMM_ARG_SRC); found != entries->end()) {
            quant_entry &e = found->second; // a matrix has the dimensions 1 and 2 of the batch
            e.mask = entries == &p.attr.precomputed_reductions ? full_mask(3) : e.mask << 1;
        }
    for (post_op &op : p.attr.post_ops.entries)
        if (!md_is_zero(op.src1))
            op.src1 = batched_src1(op.src1, asked);
    return p;
}

} // namespace

grouped_problem make_grouped_problem(const memory_desc &src, const memory_desc &wei, const memory_desc *bias,
                                     const memory_desc &dst, const zemm_primitive_attr *attr) {
    grouped_problem made;
    made.asked = unchecked_problem(src, wei, bias, dst, attr);
    problem &asked = made.asked;
    check_tensors(asked);
    check_grouped_attributes(asked);
    const auto is_any = [](const memory_desc &md) { return md.format_kind == zemm_format_kind_any; };
    asked.was_any = {false, is_any(wei), is_any(asked.bias), is_any(dst)};
    md_resolve_any(asked.bias);
    md_resolve_any(asked.dst);
    resolve_post_ops(asked);
    if ((asked.has_bias() && !md_is_plain(asked.bias)) ||
        (!md_is_grouped(asked.dst) && !md_is_plain(asked.dst)))
        fail(zemm_unimplemented, "bias and dst of a grouped matmul have no blocks");
    made.batched = batched(asked);
    check_attributes(made.batched);
    check_support(made.batched);
    return made;
}

} // namespace zemm::matmul
