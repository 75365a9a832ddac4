// SPDX-License-Identifier: Apache-2.0
#include "matmul/desc/primitive_desc.hpp"

#include <cstring>

#include "common/error.hpp"
#include "common/names.hpp"
#include "matmul/choose/tuning.hpp"
#include "matmul/desc/grouped_desc.hpp"
#include "matmul/desc/runtime_desc.hpp"
#include "matmul/plan/plan.hpp"
#include "matmul/problem/packed_weights.hpp"
#include "reorder/sparse.hpp"
#include "zemm/zemm.h"

namespace zemm::matmul {

primitive_desc::primitive_desc(zemm_engine_t e, struct problem p) : zemm_primitive_desc(e) {
    if (needs_steps(p))
        steps = make_steps(p, *e->device);
    if (steps && steps->f64) {
        take_f64();
        return;
    }
    planned made = plan_first(steps ? steps->inner : p, *e->device);
    kernels = std::move(made.candidates);
    choose(0, std::move(made.first));
}

void primitive_desc::take_f64() {
    md_resolve_any(steps->asked.wei);
    launches = std::make_shared<const sequence>(steps->around(nullptr, 0, *engine->device));
    scratchpad_size = steps->scratchpad_size(0);
    scratchpad = scratchpad_md(attr(), scratchpad_size);
    arguments = arguments_of(asked(), scratchpad);
}

void primitive_desc::choose(size_t index, struct plan new_plan) {
    const candidate &c = kernels[index];
    const struct problem &inner = c.problem();
    auto new_launches = new_plan.launches;
    size_t new_size = new_plan.scratchpad.size();
    std::optional<struct steps> new_steps = steps;
    if (new_steps) {
        if (!md_is_sparse(new_steps->asked.wei))
            new_steps->asked.wei = inner.wei;
        new_launches = std::make_shared<const sequence>(
            new_steps->around(new_launches.get(), new_size, *engine->device));
        new_size = new_steps->scratchpad_size(new_size);
    }
    const struct problem &p = new_steps ? new_steps->asked : inner;
    memory_desc new_scratchpad = scratchpad_md(p.attr, new_size);
    argument_map new_arguments = arguments_of(p, new_scratchpad);
    log_plan("create", inner, new_plan);
    // Nothing below throws: a failure above leaves the descriptor as it was.
    steps = std::move(new_steps);
    arguments = std::move(new_arguments);
    scratchpad = new_scratchpad;
    scratchpad_size = new_size;
    plan = std::move(new_plan);
    launches = std::move(new_launches);
    chosen = index;
}

bool primitive_desc::next_impl() {
    if (chosen + 1 >= kernels.size())
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
    if (kernels.empty())
        return "steps";
    const struct problem &p = of_kernel();
    const std::string cut = (steps ? "steps" : "") + kernels[chosen].cut.text();
    return p.grouped == grouping::none ? cut
                                       : cut + text(":groups=%d,%lld,%lld", int(p.grouped),
                                                    (long long)p.likely_rows, (long long)p.likely_groups);
}

std::string primitive_desc::tuning_text() const {
    if (kernels.empty())
        fail(zemm_unimplemented, "a matmul of f64 has one kernel: there is nothing to tune");
    const candidate &c = kernels[chosen];
    return matmul::tuning_text(of_kernel(), *engine->device, {plan.row, c.cut});
}

std::string primitive_desc::log_text() const {
    return log_text_of(asked(), engine->kind, impl_name(), "");
}

std::unique_ptr<zemm_primitive> primitive_desc::create(cache_result &found) const {
    return std::make_unique<primitive>(clone(), get_sequence(*this, found, [&] { return *launches; }));
}

// Earlier work may write the values, so it has to be done first. (Where the host cannot read the probability,
// the kernel takes the nearest value that is one.)
std::unique_ptr<const static_primitive::values>
primitive::read_values(ze::stream &stream, const std::map<int, zemm_memory_t> &memories,
                       std::span<const ze_event_handle_t> waits) const {
    if (!static_cast<const primitive_desc &>(*pd).steps)
        return nullptr;
    const bound_arguments bound{memories, pd->arguments};
    const auto finish_earlier_work = [&] {
        stream.wait_for(waits);
        stream.wait();
    };
    for (int arg : {ZEMM_ARG_SRC, ZEMM_ARG_WEIGHTS})
        if (md_is_sparse(pd->arguments.at(arg).md)) {
            finish_earlier_work();
            reorder::check_contents(tensor_name(arg), *bound.find(arg));
        }
    const void *value = bound.host_value(ZEMM_ARG_ATTR_DROPOUT_PROBABILITY);
    if (!value && pd->engine->device->host_pointers) {
        value = bound.pointer(ZEMM_ARG_ATTR_DROPOUT_PROBABILITY);
        if (value) {
            finish_earlier_work();
            const memory_desc &md = bound.find(ZEMM_ARG_ATTR_DROPOUT_PROBABILITY)->md;
            if (md.ndims == 1 && md.dims[0] == 1) // else it is read as dense
                value = static_cast<const float *>(value) + md.offset0;
        }
    }
    if (!value)
        return nullptr;
    float probability;
    std::memcpy(&probability, value, sizeof probability);
    if (!(probability >= 0.f && probability <= 1.f))
        fail(zemm_invalid_arguments, "dropout: the probability is %g, it must be from 0 to 1",
             double(probability));
    return nullptr;
}

void primitive::run_groups(ze::stream &stream, const std::map<int, zemm_memory_t> &memories,
                           const group_table *groups, std::span<const ze_event_handle_t> waits) const {
    const auto &desc = static_cast<const primitive_desc &>(*pd);
    brought table;
    if (groups) {
        stream.keep(groups->memory);
        table = {groups->data, groups->count / desc.plan.tiles_along_m};
    }
    submit(stream, memories, table, waits);
    if (!desc.kernels.empty())
        log_plan("exec", desc.of_kernel(), desc.plan);
}

std::unique_ptr<zemm_primitive_desc> make_primitive_desc(zemm_engine_t engine, const memory_desc &src,
                                                         const memory_desc &wei, const memory_desc *bias,
                                                         const memory_desc &dst,
                                                         const zemm_primitive_attr *attr) {
    if (md_is_grouped(src))
        return std::make_unique<grouped_desc>(engine, make_grouped_problem(src, wei, bias, dst, attr));
    problem p = make_problem(src, wei, bias, dst, attr);
    if (p.has_runtime())
        return std::make_unique<runtime_desc>(engine, std::move(p));
    return std::make_unique<primitive_desc>(engine, std::move(p));
}

} // namespace zemm::matmul
