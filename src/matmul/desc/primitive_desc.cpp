// SPDX-License-Identifier: Apache-2.0
#include "matmul/desc/primitive_desc.hpp"

#include "common/error.hpp"
#include "matmul/choose/tuning.hpp"
#include "matmul/plan/plan_text.hpp"
#include "zemm/zemm.h"

namespace zemm::matmul {

primitive_desc::primitive_desc(zemm_engine_t e, struct problem p) : zemm_primitive_desc(e) {
    planned made = plan_first(p, *e->device);
    kernels = std::move(made.candidates);
    choose(0, std::move(made.first));
}

void primitive_desc::choose(size_t index, struct plan new_plan) {
    const candidate &c = kernels[index];
    memory_desc new_scratchpad = scratchpad_md(new_plan.scratchpad_size);
    argument_map new_arguments = arguments_of(c.problem(), new_scratchpad);
    log_plan("create", c.problem(), new_plan);
    // Nothing below throws: a failure above leaves the descriptor as it was.
    arguments = std::move(new_arguments);
    scratchpad = new_scratchpad;
    scratchpad_size = new_plan.scratchpad_size;
    plan = std::move(new_plan);
    chosen = index;
}

bool primitive_desc::next_impl() {
    if (chosen + 1 == kernels.size())
        return false;
    choose(chosen + 1, make_plan(kernels[chosen + 1], *engine->device));
    return true;
}

std::unique_ptr<zemm_primitive_desc> primitive_desc::clone() const {
    return std::make_unique<primitive_desc>(*this);
}

namespace {

// The bias's mask in the log: a bit for each dimension in which the bias is not broadcast.
int bias_mask(const problem &p) {
    int mask = 0;
    for (int d = 0; d < p.ndims(); ++d)
        mask |= (p.bias.dims[d] != 1) << d;
    return mask;
}

} // namespace

std::string log_text_of(const problem &p, zemm_engine_kind_t engine, const char *impl_name,
                        const std::string &aux) {
    std::string mds = md_text("src", p.src, p.was_any.src) + " " + md_text("wei", p.wei, p.was_any.wei);
    if (p.has_bias())
        mds += " " + md_text("bia", p.bias, p.was_any.bias) + text("_mask%d", bias_mask(p));
    mds += " " + md_text("dst", p.dst, p.was_any.dst);
    return text("%s,matmul,%s,undef,%s,%s,%s,%s", zemm_engine_kind2str(engine), impl_name, mds.c_str(),
                attr_text(p.attr).c_str(), aux.c_str(), dims_line(p).c_str());
}

std::string primitive_desc::key_text() const {
    const struct problem &p = asked();
    const std::string cut = kernels[chosen].cut.text();
    return p.grouped == grouping::none ? cut
                                       : cut + text(":groups=%d,%lld,%lld", int(p.grouped),
                                                    (long long)p.likely_rows, (long long)p.likely_groups);
}

std::string primitive_desc::tuning_text() const {
    const candidate &c = kernels[chosen];
    return matmul::tuning_text(asked(), *engine->device, {plan.row, c.cut});
}

std::string primitive_desc::log_text() const {
    return log_text_of(asked(), engine->kind, impl_name(), "");
}

} // namespace zemm::matmul
