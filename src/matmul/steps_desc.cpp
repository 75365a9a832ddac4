// SPDX-License-Identifier: Apache-2.0
#include "matmul/steps_desc.hpp"

#include <algorithm>
#include <cstring>

#include "common/error.hpp"
#include "kernels/spirv.hpp"
#include "matmul/arguments.hpp"
#include "matmul/finish.hpp"
#include "matmul/sparse.hpp"
#include "primitive/compiled.hpp"
#include "primitive/launch.hpp"

namespace zemm::matmul {

namespace {

// A launch of a helper: its kernel, and its argument block on the device.
struct helper {
    std::shared_ptr<ze::kernel> kernel; // nullptr if there is no such step
    std::unique_ptr<ze::buffer> block;
    reorder::plan plan;
};

// What primitives share through the primitive cache.
struct compiled_steps : cached {
    using cached::cached;
    std::vector<helper> before;
    helper multiply_f64, finish, after;
};

const char *flags_of(const steps_desc &pd) {
    return pd.engine->kind == zemm_gpu
               ? gpu_build_flags(is_large(pd.problem.src) || is_large(pd.problem.wei) ||
                                 is_large(pd.problem.dst) || pd.scratchpad_size > UINT32_MAX)
               : "";
}

ze::kernel_source source_of(const steps_desc &pd, const reorder::plan &plan) {
    return {plan.kernel, plan.kernel, plan.constants, flags_of(pd)};
}

std::shared_ptr<const compiled_steps> build(const steps_desc &pd) {
    auto result = std::make_shared<compiled_steps>(pd.engine->device);
    result->from_disk = true;
    if (pd.empty())
        return result;
    const auto get = [&](const reorder::plan &plan) {
        const ze::kernel_source source = source_of(pd, plan);
        helper h;
        h.kernel = ze::get_kernel(result->device, kernels::find_spirv(source.name), source.entry,
                                  source.constants, source.flags);
        h.block = ze::copy_for_kernels(result->device, plan.block.data(), plan.block.size());
        h.plan = plan;
        result->from_disk = result->from_disk && h.kernel->from_disk();
        return h;
    };
    for (const converted_tensor &t : pd.steps.before)
        result->before.push_back(get(t.move));
    if (pd.steps.multiply_f64)
        result->multiply_f64 = get(*pd.steps.multiply_f64);
    if (pd.steps.finish)
        result->finish = get(*pd.steps.finish);
    if (pd.steps.after)
        result->after = get(*pd.steps.after);
    return result;
}

class steps_primitive : public static_primitive {
public:
    steps_primitive(std::unique_ptr<const zemm_primitive_desc> pd, std::shared_ptr<const compiled_steps> c,
                    std::unique_ptr<const zemm_primitive> inner)
        : static_primitive(std::move(pd)), compiled_(std::move(c)), inner_(std::move(inner)) {}

    void check_values(ze::stream &stream, const std::map<int, zemm_memory_t> &memories,
                      std::span<const ze_event_handle_t> waits) const override;
    void run(ze::stream &stream, const std::map<int, zemm_memory_t> &memories,
             std::span<const ze_event_handle_t> waits) const override;

private:
    void run_inner(ze::stream &stream, const std::map<int, zemm_memory_t> &memories,
                   const std::map<int, void *> &replaced, std::span<const ze_event_handle_t> waits) const;

    const std::shared_ptr<const compiled_steps> compiled_;
    const std::unique_ptr<const zemm_primitive> inner_; // nullptr for f64
};

// Indices of sparse tensors; the probability of dropout, if the host can read it. Earlier work may write
// them, so that has to be done first. (Where the host cannot read the probability, the kernel takes the
// nearest value that is one.)
void steps_primitive::check_values(ze::stream &stream, const std::map<int, zemm_memory_t> &memories,
                                   std::span<const ze_event_handle_t> waits) const {
    const bound_arguments bound{memories, pd->arguments};
    const auto finish_earlier_work = [&] {
        stream.wait_for(waits);
        stream.wait();
    };
    for (int arg : {ZEMM_ARG_SRC, ZEMM_ARG_WEIGHTS})
        if (is_sparse(pd->arguments.at(arg).md)) {
            finish_earlier_work();
            check_indices(tensor_name(arg), *bound.find(arg));
        }
    const void *value = bound.host_value(ZEMM_ARG_ATTR_DROPOUT_PROBABILITY);
    if (!value && pd->engine->device->host_pointers) {
        value = bound.pointer(ZEMM_ARG_ATTR_DROPOUT_PROBABILITY);
        if (value)
            finish_earlier_work();
    }
    if (!value)
        return;
    float probability;
    std::memcpy(&probability, value, sizeof probability);
    if (!(probability >= 0.f && probability <= 1.f))
        fail(zemm_invalid_arguments, "dropout: the probability is %g, it must be from 0 to 1",
             double(probability));
}

// Runs the matmul in the middle. replaced: the data of arguments that are not the caller's.
void steps_primitive::run_inner(ze::stream &stream, const std::map<int, zemm_memory_t> &memories,
                                const std::map<int, void *> &replaced,
                                std::span<const ze_event_handle_t> waits) const {
    std::map<int, zemm_memory> own;
    std::map<int, zemm_memory_t> given;
    for (const auto &[arg, argument] : inner_->pd->arguments) {
        const auto found = replaced.find(arg);
        if (found == replaced.end()) {
            given[arg] = memories.at(arg);
            continue;
        }
        zemm_memory &memory = own[arg];
        memory.md = argument.md;
        memory.parts.emplace_back().handle = found->second;
        given[arg] = &memory;
    }
    static_cast<const static_primitive &>(*inner_).run(stream, given, waits);
}

void steps_primitive::run(ze::stream &stream, const std::map<int, zemm_memory_t> &memories,
                          std::span<const ze_event_handle_t> waits) const {
    const auto &pd = static_cast<const steps_desc &>(*this->pd);
    const steps &steps = pd.steps;
    const bound_arguments bound{memories, pd.arguments};
    stream.keep(compiled_);
    char *scratchpad = nullptr;
    if (pd.scratchpad_size != 0)
        scratchpad = md_is_zero(pd.scratchpad) ? static_cast<char *>(stream.scratchpad(pd.scratchpad_size))
                                               : aligned_scratchpad(bound.pointer(ZEMM_ARG_SCRATCHPAD));
    const auto launch = [&](const helper &h, std::span<const ze::kernel_argument> arguments) {
        stream.launch(*h.kernel, h.plan.group_size, h.plan.group_count, arguments, waits);
        waits = {};
    };
    const auto move = [&](const helper &h, const void *from, const void *to,
                          kernels::reorder_arguments values) {
        const void *block = h.block->data();
        const ze::kernel_argument args[] = {{sizeof(void *), &from},
                                            {sizeof(void *), &to},
                                            {sizeof(void *), &block},
                                            {sizeof(values), &values}};
        launch(h, args);
    };
    const auto densify = [&](const helper &h, const zemm_memory &from, const void *to) {
        const auto handle = [&](int part) { return from.parts[size_t(part)].handle; };
        const void *values = handle(0), *block = h.block->data();
        const void *rows = handle(rows_part(from.md)), *columns = handle(columns_part(from.md));
        const ze::kernel_argument args[] = {{sizeof(void *), &values},
                                            {sizeof(void *), &rows},
                                            {sizeof(void *), &columns},
                                            {sizeof(void *), &to},
                                            {sizeof(void *), &block}};
        launch(h, args);
    };

    std::map<int, void *> replaced;
    for (size_t i = 0; i < steps.before.size(); ++i) {
        const converted_tensor &t = steps.before[i];
        kernels::reorder_arguments values = {};
        if (t.arg == ZEMM_ARG_SRC) {
            values.src_zp = bound.address(ZEMM_ARG_ATTR_ZERO_POINTS | ZEMM_ARG_SRC);
            values.host_src_zp = bound.zero_point(ZEMM_ARG_SRC);
        }
        replaced[t.arg] = scratchpad + t.at;
        if (is_sparse(pd.arguments.at(t.arg).md)) {
            densify(compiled_->before[i], *bound.find(t.arg), scratchpad + t.at);
            continue;
        }
        move(compiled_->before[i], bound.pointer(t.arg), scratchpad + t.at, values);
    }
    const auto pointer = [&](int arg) {
        const auto found = replaced.find(arg);
        return found == replaced.end() ? bound.pointer(arg) : found->second;
    };
    if (steps.after)
        replaced[ZEMM_ARG_DST] = scratchpad + steps.dst_at;
    const void *dst = pointer(ZEMM_ARG_DST);
    kernels::matmul_arguments values = arguments_by_value(bound, pd.problem);
    values.bias = reinterpret_cast<uint64_t>(pointer(ZEMM_ARG_BIAS));
    for (size_t i = 0; i < pd.problem.attr.post_ops.entries.size(); ++i) {
        const int base = ZEMM_ARG_ATTR_MULTIPLE_POST_OP(int(i));
        if (steps.find(base | ZEMM_ARG_SRC_1))
            values.post_op_src1[i] = reinterpret_cast<uint64_t>(pointer(base | ZEMM_ARG_SRC_1));
        if (steps.find(base | ZEMM_ARG_SRC_2))
            values.post_op_src2[i] = reinterpret_cast<uint64_t>(pointer(base | ZEMM_ARG_SRC_2));
    }
    const void *sums = steps.finish ? scratchpad + steps.sums_at : dst;
    if (steps.multiply_f64) {
        const void *src = pointer(ZEMM_ARG_SRC), *wei = pointer(ZEMM_ARG_WEIGHTS);
        const void *block = compiled_->multiply_f64.block->data();
        const ze::kernel_argument args[] = {{sizeof(void *), &src},
                                            {sizeof(void *), &wei},
                                            {sizeof(void *), &sums},
                                            {sizeof(void *), &block},
                                            {sizeof(values), &values}};
        launch(compiled_->multiply_f64, args);
    } else {
        std::map<int, void *> inner = replaced;
        inner[ZEMM_ARG_SCRATCHPAD] = scratchpad + steps.inner_scratchpad_at;
        if (steps.finish)
            inner[ZEMM_ARG_DST] = scratchpad + steps.sums_at;
        run_inner(stream, memories, inner, waits);
        waits = {};
    }
    if (steps.finish) {
        const void *block = compiled_->finish.block->data();
        const kernels::finish_arguments more = finish_values(bound);
        const ze::kernel_argument args[] = {{sizeof(void *), &sums},
                                            {sizeof(void *), &dst},
                                            {sizeof(void *), &block},
                                            {sizeof(values), &values},
                                            {sizeof(more), &more}};
        launch(compiled_->finish, args);
    }
    if (steps.after)
        move(compiled_->after, dst, bound.pointer(ZEMM_ARG_DST), {});
}

} // namespace

steps_desc::steps_desc(zemm_engine_t e, struct problem p)
    : zemm_primitive_desc(e), problem(std::move(p)), steps(make_steps(problem, *e->device)) {
    if (steps.multiply_f64)
        md_resolve_any(problem.wei);
    else
        inner = std::make_unique<primitive_desc>(e, steps.inner);
    take_from_inner();
}

steps_desc::steps_desc(const steps_desc &other)
    : zemm_primitive_desc(other), problem(other.problem), steps(other.steps),
      inner(other.inner ? std::make_unique<primitive_desc>(*other.inner) : nullptr) {}

// Takes over what the choice of the matmul in the middle decides: the layout of the weights and the size
// of the scratchpad.
void steps_desc::take_from_inner() {
    if (inner && !is_sparse(problem.wei))
        problem.wei = inner->problem().wei;
    scratchpad_size = steps.inner_scratchpad_at + (inner ? inner->scratchpad_size : 0);
    scratchpad = scratchpad_md(scratchpad_size);
    arguments = arguments_of(problem, scratchpad);
}

const char *steps_desc::impl_name() const {
    return inner ? inner->impl_name() : "matmul_f64";
}

std::unique_ptr<zemm_primitive_desc> steps_desc::clone() const {
    return std::make_unique<steps_desc>(*this);
}

bool steps_desc::next_impl() {
    if (!inner || !inner->next_impl())
        return false;
    take_from_inner();
    return true;
}

std::vector<ze::kernel_source> steps_desc::sources() const {
    if (empty())
        return {};
    std::vector<ze::kernel_source> all;
    if (inner)
        all = inner->sources();
    if (steps.multiply_f64)
        all.push_back(source_of(*this, *steps.multiply_f64));
    for (const converted_tensor &t : steps.before)
        all.push_back(source_of(*this, t.move));
    for (const std::optional<reorder::plan> *plan : {&steps.finish, &steps.after})
        if (*plan)
            all.push_back(source_of(*this, **plan));
    return all;
}

std::string steps_desc::key_text() const {
    return "steps" + (inner ? inner->key_text() : "");
}

std::string steps_desc::tuning_text() const {
    if (!inner)
        fail(zemm_unimplemented, "a matmul of f64 has one kernel: there is nothing to tune");
    return inner->tuning_text();
}

std::string steps_desc::log_text() const {
    return log_text_of(problem, engine->kind, impl_name(), "");
}

std::unique_ptr<zemm_primitive> steps_desc::create(cache_result &found) const {
    std::unique_ptr<zemm_primitive> made;
    cache_result found_inner = cache_result::hit;
    if (inner)
        made = inner->create(found_inner);
    auto shared = get_compiled(*this, found, [&] { return build(*this); });
    found = std::min(found, found_inner);
    return std::make_unique<steps_primitive>(
        clone(), std::static_pointer_cast<const compiled_steps>(std::move(shared)), std::move(made));
}

std::unique_ptr<zemm_primitive_desc> make_static_desc(zemm_engine_t engine, struct problem p) {
    if (needs_steps(p))
        return std::make_unique<steps_desc>(engine, std::move(p));
    return std::make_unique<primitive_desc>(engine, std::move(p));
}

} // namespace zemm::matmul
