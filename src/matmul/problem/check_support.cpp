// SPDX-License-Identifier: Apache-2.0
// The support stage of make_problem: refuses, as unimplemented, valid problems that no kernel takes
// yet. The last row of kernels.def takes all others except those with packed weights.
#include "common/error.hpp"
#include "matmul/problem/problem.hpp"
#include "primitive/refusals.hpp"
#include "zemm/zemm.h"

namespace zemm::matmul {

namespace {

void check_type(const char *name, const memory_desc &md, role as) {
    if (!suits(md.data_type, as))
        fail(zemm_unimplemented, "%s: data type %s is not implemented, %s are", name,
             zemm_dt2str(md.data_type), types_for(as).c_str());
}

// A matmul of f64 has f64 only, except in the bias. Such a bias has no other matmul.
void check_f64(const problem &p) {
    const auto is_f64 = [](const memory_desc &md) { return md.data_type == zemm_f64; };
    const int count = is_f64(p.src) + is_f64(p.wei) + is_f64(p.dst);
    if (count == 3 || (count == 0 && !is_f64(p.bias)))
        return;
    fail(zemm_unimplemented, "f64 needs src, weights and dst of f64, not %s, %s and %s",
         zemm_dt2str(p.src.data_type), zemm_dt2str(p.wei.data_type), zemm_dt2str(p.dst.data_type));
}

} // namespace

void check_support(const problem &p) {
    check_type("src", p.src, role::src);
    check_type("weights", p.wei, role::weights);
    if (p.integer() && !is_integer(p.wei.data_type))
        fail(zemm_unimplemented, "%s weights with an %s src are not implemented",
             zemm_dt2str(p.wei.data_type), zemm_dt2str(p.src.data_type));
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
                 zemm_dt2str(op.data_type));
        if (op.kind != zemm_binary)
            continue;
        if (!suits(op.src1.data_type, role::post_op))
            fail(zemm_unimplemented, "%s: data type %s is not implemented", name.c_str(),
                 zemm_dt2str(op.src1.data_type));
    }
}

} // namespace zemm::matmul
