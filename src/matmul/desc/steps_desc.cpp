// SPDX-License-Identifier: Apache-2.0
#include "matmul/desc/steps_desc.hpp"

#include <algorithm>

#include "common/error.hpp"
#include "matmul/desc/compiled_steps.hpp"
#include "matmul/plan/arguments.hpp"
#include "matmul/problem/sparse.hpp"
#include "primitive/compiled.hpp"
#include "primitive/launch.hpp"

namespace zemm::matmul {

namespace {

const char *flags_of(const steps_desc &pd) {
    return pd.engine->kind == zemm_gpu
               ? gpu_build_flags(is_large(pd.problem.src) || is_large(pd.problem.wei) ||
                                 is_large(pd.problem.dst) || pd.scratchpad_size > UINT32_MAX)
               : "";
}

std::shared_ptr<const compiled_steps> build(const steps_desc &pd) {
    auto result = std::make_shared<compiled_steps>(pd.engine->device);
    result->from_disk = true;
    if (pd.empty())
        return result;
    const auto get = [&](const reorder::plan &plan) {
        helper h = reorder::make_helper(result->device, plan, flags_of(pd));
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
        problem.wei = inner->asked().wei;
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
        all.push_back(reorder::source_of(*steps.multiply_f64, flags_of(*this)));
    for (const converted_tensor &t : steps.before)
        all.push_back(reorder::source_of(t.move, flags_of(*this)));
    for (const std::optional<reorder::plan> *plan : {&steps.finish, &steps.after})
        if (*plan)
            all.push_back(reorder::source_of(**plan, flags_of(*this)));
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
