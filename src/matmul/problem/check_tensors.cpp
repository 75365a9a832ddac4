// SPDX-License-Identifier: Apache-2.0
// The stages of make_problem that look at tensors. check_shapes refuses, as invalid_arguments, descriptors
// that do not make a matmul. Its rules are oneDNN's (its page "Matrix Multiplication"): equal ranks, matching
// M, N and K, batches equal or 1, a valid combination of types. check_sparse and check_support refuse, as
// unimplemented, valid problems that no kernel takes yet. The last row of kernels.def takes all others except
// those with packed weights.
#include <algorithm>

#include "common/error.hpp"
#include "common/names.hpp"
#include "matmul/problem/packed_weights.hpp"
#include "matmul/problem/problem.hpp"
#include "primitive/refusals.hpp"

namespace zemm::matmul {

namespace {

void check_dim(const char *a_name, const memory_desc &a, int a_dim, const char *b_name, const memory_desc &b,
               int b_dim, const char *what) {
    if (a.dims[a_dim] == b.dims[b_dim])
        return;
    fail(zemm_invalid_arguments, "%s differs: %s has dims %s, %s has dims %s", what, a_name,
         dims_text(a).c_str(), b_name, dims_text(b).c_str());
}

void check_batch(const problem &p, int d) {
    const zemm_dim_t s = p.src.dims[d], w = p.wei.dims[d], o = p.dst.dims[d];
    const auto refuse = [&](const char *why) {
        fail(zemm_invalid_arguments, "batch dimension %d %s: src %s, weights %s, dst %s", d, why,
             dims_text(p.src).c_str(), dims_text(p.wei).c_str(), dims_text(p.dst).c_str());
    };
    const auto runtime = [](zemm_dim_t dim) { return dim == ZEMM_RUNTIME_DIM_VAL; };
    if (runtime(s) || runtime(w) || runtime(o)) {
        if (!runtime(s) || !runtime(w) || !runtime(o))
            refuse("is a runtime value in some tensors only");
        if (p.has_bias() && p.bias.dims[d] != 1 && !runtime(p.bias.dims[d]))
            refuse("is a runtime value but not in bias");
        return;
    }
    if (s == w && s == o)
        return;
    if (s != 1 && w != 1)
        refuse("can be broadcast only where src or weights has 1");
    if (o != (s == 1 ? w : s))
        refuse("of dst is not that of src and weights broadcast");
}

} // namespace

void check_in_place(const post_op &op, const memory_desc &dst, int index) {
    const memory_desc &md = op.src1;
    const auto is_any = [](const memory_desc &m) { return m.format_kind == zemm_format_kind_any; };
    if (md.data_type != dst.data_type || md.ndims != dst.ndims ||
        !std::equal(md.dims, md.dims + md.ndims, dst.dims))
        fail(zemm_invalid_arguments, "post-op %d: src1 of %s is dst: it must have dst's %s %s, not %s %s",
             index, alg_kind_name(op.alg), data_type_name(dst.data_type), dims_text(dst).c_str(),
             data_type_name(md.data_type), dims_text(md).c_str());
    if (is_any(md))
        return;
    if (is_any(dst))
        fail(zemm_invalid_arguments,
             "post-op %d: src1 of %s is dst, whose format is any: src1's format must be any, too", index,
             alg_kind_name(op.alg));
    if (!md_equal(md, dst) && !md_same_places(md, dst))
        fail(zemm_invalid_arguments,
             "post-op %d: src1 of %s is dst: it must have dst's %s, or format any, not %s", index,
             alg_kind_name(op.alg), md_sentence(dst).c_str(), md_sentence(md).c_str());
}

zemm_data_type_t accumulation_type(const problem &p) {
    const zemm_data_type_t s = p.src.data_type, w = p.wei.data_type, d = p.dst.data_type;
    const auto small_float = [](zemm_data_type_t dt) { return is_floating(dt) && data_type_bits(dt) <= 16; };
    const bool int_wei = is_narrow_int(w);
    if (s == zemm_f32 && w == zemm_f32)
        return zemm_f32;
    if (s == zemm_f64 && w == zemm_f64)
        return zemm_f64;
    if (is_int8(s) && int_wei)
        return zemm_s32;
    if (s == zemm_f16 || w == zemm_f16)
        return zemm_f32;
    if ((s == zemm_bf16 || s == zemm_f32) && int_wei)
        return zemm_f32;
    if (small_float(s) || small_float(w) || small_float(d))
        return zemm_f32;
    return zemm_data_type_undef;
}

void check_shapes(const problem &p) {
    const struct {
        const char *name;
        const memory_desc &md;
    } tensors[] = {{"src", p.src}, {"weights", p.wei}, {"dst", p.dst}, {"bias", p.bias}};
    for (const auto &t : tensors) {
        refuse_extra(t.name, t.md);
        refuse_huge(t.name, t.md);
    }
    for (const auto &t : tensors) {
        if (t.md.format_kind == zemm_format_kind_host_scalar)
            fail(zemm_invalid_arguments, "%s is a host scalar, a matmul takes tensors", t.name);
        if (&t.md == &p.bias && !p.has_bias())
            continue;
        if (t.md.ndims < 2 || t.md.ndims > ZEMM_MAX_NDIMS)
            fail(zemm_invalid_arguments, "%s has %d dimensions, a matmul takes 2 to %d", t.name, t.md.ndims,
                 ZEMM_MAX_NDIMS);
        if (t.md.ndims != p.src.ndims)
            fail(zemm_invalid_arguments, "%s has %d dimensions (%s), src has %d (%s)", t.name, t.md.ndims,
                 dims_text(t.md).c_str(), p.src.ndims, dims_text(p.src).c_str());
    }
    const int nd = p.ndims();
    check_dim("dst", p.dst, nd - 2, "src", p.src, nd - 2, "M");
    check_dim("dst", p.dst, nd - 1, "weights", p.wei, nd - 1, "N");
    check_dim("src", p.src, nd - 1, "weights", p.wei, nd - 2, "K");
    if (p.has_bias())
        for (int d = 0; d < nd; ++d)
            if (p.bias.dims[d] != 1 && p.bias.dims[d] != p.dst.dims[d])
                fail(zemm_invalid_arguments, "bias dimension %d must be 1 or dst's: bias %s, dst %s", d,
                     dims_text(p.bias).c_str(), dims_text(p.dst).c_str());
    for (int d = 0; d < nd - 2; ++d)
        check_batch(p, d);
    if (accumulation_type(p) == zemm_data_type_undef)
        fail(zemm_invalid_arguments, "no accumulation type for src %s, weights %s, dst %s",
             data_type_name(p.src.data_type), data_type_name(p.wei.data_type),
             data_type_name(p.dst.data_type));
    int index = 0;
    for (const post_op &op : p.attr.post_ops.entries) {
        if (is_in_place(op))
            check_in_place(op, p.dst, index);
        for (const memory_desc *md : {&op.src1, &op.src2}) {
            if (md_is_zero(*md))
                continue;
            bool fits = md->ndims == nd;
            for (int d = 0; fits && d < nd; ++d)
                fits = md->dims[d] == 1 || md->dims[d] == p.dst.dims[d] ||
                       p.dst.dims[d] == ZEMM_RUNTIME_DIM_VAL; // compared at execution
            if (!fits)
                fail(zemm_invalid_arguments,
                     "post-op %d: each dimension of a binary's source must be 1 or dst's: %s has %s, dst "
                     "has %s",
                     index, md == &op.src1 ? "src1" : "src2", dims_text(*md).c_str(),
                     dims_text(p.dst).c_str());
        }
        ++index;
    }
}

namespace {

void check_type(const char *name, const memory_desc &md, role as) {
    if (!suits(md.data_type, as))
        fail(zemm_unimplemented, "%s: data type %s is not implemented, %s are", name,
             data_type_name(md.data_type), types_for(as).c_str());
}

// A matmul of f64 has f64 only, except in the bias. Such a bias has no other matmul.
void check_f64(const problem &p) {
    const auto is_f64 = [](const memory_desc &md) { return md.data_type == zemm_f64; };
    const int count = is_f64(p.src) + is_f64(p.wei) + is_f64(p.dst);
    if (count == 3 || (count == 0 && !is_f64(p.bias)))
        return;
    fail(zemm_unimplemented, "f64 needs src, weights and dst of f64, not %s, %s and %s",
         data_type_name(p.src.data_type), data_type_name(p.wei.data_type), data_type_name(p.dst.data_type));
}

} // namespace

void check_support(const problem &p) {
    check_type("src", p.src, role::src);
    check_type("weights", p.wei, role::weights);
    if (p.integer() && !is_integer(p.wei.data_type))
        fail(zemm_unimplemented, "%s weights with an %s src are not implemented",
             data_type_name(p.wei.data_type), data_type_name(p.src.data_type));
    check_type("dst", p.dst, role::dst);
    if (p.has_bias())
        check_type("bias", p.bias, role::bias);
    check_f64(p);
    if (p.grouped != grouping::rows) // whose matrices of dst share a place, but not the rows
        refuse_shared_places(p.dst, "results");
    int index = 0;
    for (const post_op &op : p.attr.post_ops.entries) {
        const std::string name = text("post-op %d", index++);
        if (op.kind == zemm_sum && op.data_type != zemm_data_type_undef && !suits(op.data_type, role::dst))
            fail(zemm_unimplemented, "%s: sum of data type %s is not implemented", name.c_str(),
                 data_type_name(op.data_type));
        if (!md_is_zero(op.src1) && !suits(op.src1.data_type, role::post_op))
            fail(zemm_unimplemented, "%s: data type %s is not implemented", name.c_str(),
                 data_type_name(op.src1.data_type));
    }
}

namespace {

void check_packed(const memory_desc &wei) {
    if (wei.data_type != zemm_s8)
        fail(zemm_unimplemented, "weights: the packed encoding needs s8, not %s",
             data_type_name(wei.data_type));
}

void check_matrix(const char *name, const memory_desc &md) {
    if (md.encoding != zemm_csr && md.encoding != zemm_coo)
        refuse_sparse(name, md);
    if (md.ndims != 2)
        fail(zemm_unimplemented, "%s: a sparse matrix has 2 dimensions, not %d", name, md.ndims);
    for (const zemm_data_type_t index : md.metadata_types)
        if (index != zemm_s32 && index != zemm_data_type_undef)
            fail(zemm_unimplemented, "%s: indices of %s are not implemented, s32 are", name,
                 data_type_name(index));
    if (md.data_type != zemm_f32 && md.data_type != zemm_f16)
        fail(zemm_unimplemented, "%s: the %s encoding needs f32 or f16, not %s", name,
             sparse_encoding_name(md.encoding), data_type_name(md.data_type));
}

void check_known(const char *name, const memory_desc &md) {
    if (md_has_runtime(md))
        fail(zemm_unimplemented, "%s: a sparse tensor needs known dimensions and a known number of values",
             name);
}

} // namespace

void check_sparse(const problem &p) {
    for (int arg : {ZEMM_ARG_WEIGHTS, ZEMM_ARG_DST, ZEMM_ARG_BIAS})
        if (md_is_grouped(p.tensor(arg)))
            fail(zemm_unimplemented, "%s: grouped, but src is not: a grouped matmul has a grouped src",
                 arg == ZEMM_ARG_BIAS ? "bias" : tensor_name(arg));
    if (md_is_sparse(p.src)) {
        check_matrix("src", p.src);
        check_known("src", p.src);
    }
    if (md_is_sparse(p.wei)) {
        if (is_sparse_packed(p.wei))
            check_packed(p.wei);
        else
            check_matrix("weights", p.wei);
        check_known("weights", p.wei);
    }
    if (md_is_sparse(p.src) && md_is_sparse(p.wei))
        fail(zemm_unimplemented, "src and weights are both sparse: a matmul takes one sparse tensor");
    refuse_sparse("dst", p.dst);
    refuse_sparse("bias", p.bias);
}

} // namespace zemm::matmul
