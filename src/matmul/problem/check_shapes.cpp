// SPDX-License-Identifier: Apache-2.0
// The descriptor stage of make_problem: refuses, as invalid_arguments, descriptors that do not make
// a matmul. The rules are oneDNN's (its page "Matrix Multiplication"): equal ranks, matching M, N
// and K, batches equal or 1, a valid combination of types.
#include "common/error.hpp"
#include "common/names.hpp"
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

zemm_data_type_t accumulation_type(const problem &p) {
    const zemm_data_type_t s = p.src.data_type, w = p.wei.data_type, d = p.dst.data_type;
    const auto small_float = [](zemm_data_type_t dt) { return is_floating(dt) && data_type_bits(dt) <= 16; };
    const bool int_wei = is_int8(w) || is_int4(w);
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
        if (op.kind == zemm_binary)
            for (const memory_desc *md : {&op.src1, &op.src2}) {
                if (md->ndims == 0 && md == &op.src2)
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

} // namespace zemm::matmul
