// SPDX-License-Identifier: Apache-2.0
#include "matmul/desc/runtime_desc.hpp"

#include <algorithm>

#include "common/error.hpp"
#include "common/md_check.hpp"
#include "common/memory_desc.hpp"
#include "matmul/desc/primitive_desc.hpp"

namespace zemm::matmul {

namespace {

// Dimensions that stand for all others in the choice of an implementation and of the layout of the
// weights: a matmul of the usual size.
struct likely_dims {
    zemm_dims_t dst;
    zemm_dim_t k;
};

likely_dims likely_dims_of(const problem &p) {
    likely_dim m(256), n(1024), k(1024);
    for (const quant_entry *entry : {p.scale(ZEMM_ARG_SRC), p.zero_point(ZEMM_ARG_SRC), p.reduction()})
        k.fit_groups(entry, 1);
    for (const quant_entry *entry : {p.scale(ZEMM_ARG_WEIGHTS), p.zero_point(ZEMM_ARG_WEIGHTS)}) {
        k.fit_groups(entry, 0);
        n.fit_groups(entry, 1);
    }
    m.fit_groups(p.scale(ZEMM_ARG_DST), 0);
    n.fit_groups(p.scale(ZEMM_ARG_DST), 1);
    likely_dims likely = {.dst = {}, .k = p.k() == runtime_dim ? k.value() : p.k()};
    const int row = p.ndims() - 2;
    for (int d = 0; d < p.ndims(); ++d) {
        zemm_dim_t &dim = likely.dst[d];
        dim = p.dst.dims[d];
        // A binary post-op may tell the value.
        for (const post_op &op : p.attr.post_ops.entries)
            for (const memory_desc *md : {&op.src1, &op.src2})
                if (dim == runtime_dim && md->ndims != 0 && md->dims[d] != 1)
                    dim = md->dims[d];
        if (dim == runtime_dim)
            dim = d < row ? 2 : d == row ? m.value() : n.value();
    }
    return likely;
}

// The tensor with likely values for its runtime dimensions: row and column for the last two, the
// elements of batch for those before.
memory_desc likely_md(const memory_desc &md, const zemm_dim_t *batch, zemm_dim_t row, zemm_dim_t column) {
    if (!md_has_runtime(md))
        return md;
    zemm_dims_t dims;
    for (int d = 0; d < md.ndims; ++d) {
        const zemm_dim_t likely = d < md.ndims - 2 ? batch[d] : d == md.ndims - 2 ? row : column;
        dims[d] = md.dims[d] == runtime_dim ? likely : md.dims[d];
    }
    return md_with_dims(md, dims);
}

// The problem without runtime values. Its scratchpad is the library's: how much a shape needs
// is not known before the caller would have to give it.
problem with_tensors(const problem &p, const tensor_map &tensors) {
    zemm_primitive_attr attr = p.attr;
    attr.scratchpad_mode = zemm_scratchpad_mode_library;
    for (post_op &op : attr.post_ops.entries)
        if (is_in_place(op))
            op.src1 = tensors.at(ZEMM_ARG_DST);
    problem made =
        make_problem(tensors.at(ZEMM_ARG_SRC), tensors.at(ZEMM_ARG_WEIGHTS),
                     p.has_bias() ? &tensors.at(ZEMM_ARG_BIAS) : nullptr, tensors.at(ZEMM_ARG_DST), &attr);
    made.was_any = p.was_any;
    return made;
}

} // namespace

problem likely_problem(const problem &p) {
    const likely_dims likely = likely_dims_of(p);
    const zemm_dim_t m = likely.dst[p.ndims() - 2], n = likely.dst[p.ndims() - 1];
    tensor_map tensors;
    tensors[ZEMM_ARG_SRC] = likely_md(p.src, likely.dst, m, likely.k);
    tensors[ZEMM_ARG_WEIGHTS] = likely_md(p.wei, likely.dst, likely.k, n);
    tensors[ZEMM_ARG_DST] = likely_md(p.dst, likely.dst, m, n);
    tensors[ZEMM_ARG_BIAS] = likely_md(p.bias, likely.dst, m, n);
    return with_tensors(p, tensors);
}

runtime_desc::runtime_desc(zemm_engine_t e, struct problem p, std::unique_ptr<zemm_primitive_desc> likely)
    : runtime_primitive_desc(e, std::move(likely)), problem_(std::move(p)) {
    if (problem_.wei.format_kind == zemm_format_kind_any)
        problem_.wei = this->likely().query_md(zemm_query_weights_md, 0);
    arguments = arguments_of(problem_, {});
}

std::unique_ptr<zemm_primitive_desc> runtime_desc::clone() const {
    return std::make_unique<runtime_desc>(*this);
}

std::unique_ptr<zemm_primitive_desc> runtime_desc::resolved(const tensor_map &tensors) const {
    return std::make_unique<primitive_desc>(engine.get(), with_tensors(problem_, tensors));
}

std::string runtime_desc::log_text() const {
    return log_text_of(
        problem_, engine->kind, impl_name(),
        text("runtime_dims_masks:%d:%d", runtime_dims_mask(problem_.src), runtime_dims_mask(problem_.wei)));
}

} // namespace zemm::matmul
