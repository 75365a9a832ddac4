// SPDX-License-Identifier: Apache-2.0
#include "reorder/runtime_desc.hpp"

#include "common/memory_desc.hpp"
#include "reorder/primitive_desc.hpp"
#include "reorder/sparse.hpp"
#include "reorder/sparse_desc.hpp"

namespace zemm::reorder {

namespace {

memory_desc likely_md(const problem &p, const memory_desc &md) {
    if (!md_has_runtime(md))
        return md;
    zemm_dims_t dims;
    for (int d = 0; d < md.ndims; ++d) {
        const int last = d - (md.ndims - 2); // index among the last two dimensions
        likely_dim dim(last >= 0 ? 256 : 2);
        if (last >= 0)
            for (const quant_map *entries :
                 {&p.attr.scales, &p.attr.zero_points, &p.attr.precomputed_reductions})
                for (const auto &[arg, entry] : *entries)
                    dim.fit_groups(&entry, last);
        dims[d] = md.dims[d] == ZEMM_RUNTIME_DIM_VAL ? dim.value() : md.dims[d];
    }
    return md_with_dims(md, dims);
}

std::unique_ptr<zemm_primitive_desc> likely_desc(const problem &p, zemm_engine_t src, zemm_engine_t dst) {
    return std::make_unique<primitive_desc>(make_problem(likely_md(p, p.src), likely_md(p, p.dst), &p.attr),
                                            src, dst);
}

} // namespace

runtime_desc::runtime_desc(problem p, zemm_engine_t src, zemm_engine_t dst)
    : runtime_primitive_desc(dst, likely_desc(p, src, dst)), problem_(std::move(p)),
      src_engine_(src->shared_from_this()), dst_engine_(dst->shared_from_this()) {
    arguments = arguments_of(problem_, src, dst);
}

std::unique_ptr<zemm_primitive_desc> runtime_desc::clone() const {
    return std::make_unique<runtime_desc>(*this);
}

std::unique_ptr<zemm_primitive_desc> runtime_desc::resolved(const tensor_map &tensors) const {
    return std::make_unique<primitive_desc>(
        make_problem(tensors.at(ZEMM_ARG_FROM), tensors.at(ZEMM_ARG_TO), &problem_.attr), src_engine_.get(),
        dst_engine_.get());
}

void runtime_desc::query(zemm_query_t what, int index, void *result) const {
    if (what == zemm_query_reorder_src_engine || what == zemm_query_reorder_dst_engine)
        likely().query(what, index, result);
    else
        runtime_primitive_desc::query(what, index, result);
}

std::string runtime_desc::log_text() const {
    return log_text_of(problem_, engine->kind, impl_name(),
                       text("runtime-dim-mask:%d", runtime_dims_mask(problem_.src)));
}

std::unique_ptr<zemm_primitive_desc> make_primitive_desc(const memory_desc &src, zemm_engine_t src_engine,
                                                         const memory_desc &dst, zemm_engine_t dst_engine,
                                                         const zemm_primitive_attr *attr) {
    problem p = make_problem(src, dst, attr);
    if (p.has_runtime())
        return std::make_unique<runtime_desc>(std::move(p), src_engine, dst_engine);
    if (md_is_sparse(p.src) || md_is_sparse(p.dst))
        return std::make_unique<sparse_desc>(std::move(p), src_engine, dst_engine);
    return std::make_unique<primitive_desc>(std::move(p), src_engine, dst_engine);
}

} // namespace zemm::reorder
