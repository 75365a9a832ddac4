// SPDX-License-Identifier: Apache-2.0
// The support stage of make_problem: refuses, as unimplemented, valid problems that no kernel takes
// yet. The last row of kernels.def takes all others except those with packed weights.
#include <algorithm>

#include "common/error.hpp"
#include "common/names.hpp"
#include "matmul/problem/packed_weights.hpp"
#include "matmul/problem/problem.hpp"
#include "primitive/refusals.hpp"

namespace zemm::matmul {

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
        if (op.kind != zemm_binary)
            continue;
        if (!suits(op.src1.data_type, role::post_op))
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
