// SPDX-License-Identifier: Apache-2.0
#include "matmul/desc/primitive_desc.hpp"

#include <cstring>

#include "common/env.hpp"
#include "common/error.hpp"
#include "common/memory_desc.hpp"
#include "common/names.hpp"
#include "common/verbose.hpp"
#include "matmul/choose/tuning.hpp"
#include "matmul/plan/plan.hpp"
#include "matmul/problem/packed_weights.hpp"
#include "reorder/launches.hpp"
#include "reorder/sparse.hpp"
#include "zemm/zemm.h"

namespace zemm::matmul {

namespace {

// Completes a decision that has its launches.
std::shared_ptr<const decision> complete(std::shared_ptr<decision> made, size_t scratchpad_size) {
    made->scratchpad_size = scratchpad_size;
    made->scratchpad = scratchpad_md(made->asked().attr, scratchpad_size);
    made->arguments = arguments_of(made->asked(), made->scratchpad);
    return made;
}

// made: with its steps and kernels. plan: of the kernel at index.
std::shared_ptr<const decision> choose(std::shared_ptr<decision> made, size_t index, struct plan plan) {
    const ze::device &dev = *made->device;
    made->chosen = index;
    made->plan = std::move(plan);
    made->launches = made->plan.launches;
    size_t size = made->plan.scratchpad.size();
    if (made->steps) {
        if (!made->steps->converted.contains(ZEMM_ARG_WEIGHTS))
            made->steps->asked.wei = made->of_kernel().wei;
        made->launches = std::make_shared<const sequence>(
            made->steps->around(made->launches.get(), size, made->plan.quantizes_src, dev));
        size = made->steps->scratchpad_size(size);
    }
    log_plan("create", made->of_kernel(), made->plan);
    return complete(std::move(made), size);
}

} // namespace

std::shared_ptr<const decision> decide(const std::shared_ptr<ze::device> &dev, const problem &p) {
    auto made = std::make_shared<decision>(dev);
    if (needs_steps(p))
        made->steps = make_steps(p, *dev);
    if (made->steps && made->steps->f64) {
        md_resolve_any(made->steps->asked.wei);
        made->launches = std::make_shared<const sequence>(made->steps->around(nullptr, 0, false, *dev));
        return complete(made, made->steps->scratchpad_size(0));
    }
    planned first = plan_first(made->steps ? made->steps->inner : p, *dev);
    made->kernels = std::make_shared<const std::vector<candidate>>(std::move(first.candidates));
    return choose(made, 0, std::move(first.first));
}

primitive_desc::primitive_desc(zemm_engine_t e, struct problem p) : primitive_desc(e, decide(e->device, p)) {}

primitive_desc::primitive_desc(zemm_engine_t e, std::shared_ptr<const decision> made)
    : zemm_primitive_desc(e) {
    take(std::move(made));
}

void primitive_desc::take(std::shared_ptr<const decision> made) {
    argument_map its_arguments = made->arguments;
    // Nothing below throws: a failure above leaves the descriptor as it was.
    arguments = std::move(its_arguments);
    scratchpad = made->scratchpad;
    scratchpad_size = made->scratchpad_size;
    decided = std::move(made);
}

bool primitive_desc::next_impl() {
    if (!decided->kernels || decided->chosen + 1 >= decided->kernels->size())
        return false;
    const size_t next = decided->chosen + 1;
    take(choose(std::make_shared<decision>(*decided), next,
                make_plan((*decided->kernels)[next], *engine->device)));
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
    if (!decided->kernels)
        return "steps";
    const struct problem &p = decided->of_kernel();
    const std::string cut = (decided->steps ? "steps" : "") + decided->kernel().cut.text();
    return p.grouped == grouping::none ? cut
                                       : cut + text(":groups=%d,%lld,%lld", int(p.grouped),
                                                    (long long)p.likely_rows, (long long)p.likely_groups);
}

std::string primitive_desc::tuning_text() const {
    if (!decided->kernels)
        fail(zemm_unimplemented, "a matmul of f64 has one kernel: there is nothing to tune");
    return matmul::tuning_text(decided->of_kernel(), *engine->device,
                               {decided->plan.row, decided->kernel().cut});
}

std::string primitive_desc::log_text() const {
    return log_text_of(asked(), engine->kind, impl_name(), "");
}

std::unique_ptr<zemm_primitive> primitive_desc::create(cache_result &found) const {
    return std::make_unique<primitive>(
        clone(), get_sequence(*this, found, [&] { return *decided->launches; }), reorder::copy_launch);
}

// Earlier work may write the values, so it has to be done first. (Where the host cannot read the probability,
// the kernel takes the nearest value that is one.)
std::unique_ptr<const static_primitive::values>
primitive::read_values(ze::stream &stream, const memory_map &memories,
                       std::span<const ze_event_handle_t> waits) const {
    if (!static_cast<const primitive_desc &>(*pd).decided->steps)
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

void primitive::run_groups(ze::stream &stream, const memory_map &memories, const group_table *groups,
                           std::span<const ze_event_handle_t> waits) const {
    const decision &made = *static_cast<const primitive_desc &>(*pd).decided;
    brought table;
    if (groups) {
        stream.keep(groups->memory);
        table = {groups->data, groups->count / made.plan.tiles_along_m};
    }
    submit(stream, memories, table, waits);
    if (made.kernels)
        log_plan("exec", made.of_kernel(), made.plan);
}

} // namespace zemm::matmul
