// SPDX-License-Identifier: Apache-2.0
#include "reorder/sparse_desc.hpp"

#include <utility>

#include "common/error.hpp"
#include "common/names.hpp"
#include "primitive/compiled.hpp"
#include "primitive/launch.hpp"
#include "reorder/primitive_desc.hpp"
#include "reorder/sparse.hpp"

namespace zemm::reorder {

namespace {

sparse_steps steps_of(const problem &p, const ze::device &dev) {
    sparse_steps s;
    const auto take = [&](size_t bytes) {
        const size_t at =
            (s.scratchpad_size + scratchpad_alignment - 1) / scratchpad_alignment * scratchpad_alignment;
        s.scratchpad_size = at + bytes;
        return at;
    };
    problem dense = p;
    if (is_sparse(p.src)) {
        dense.src = dense_md(p.src);
        s.densify = plan_densify(p.src);
    }
    if (is_sparse(p.dst))
        dense.dst = dense_md(p.dst);
    if (!p.is_copy() || !md_equal(dense.src, dense.dst))
        s.convert = candidates(dense, dev).front().second;
    if (s.densify && (s.convert || is_sparse(p.dst))) // else directly to dst
        s.densified_at = take(md_size(dense.src));
    if (!is_sparse(p.dst))
        return s;
    if (s.convert)
        s.converted_at = take(md_size(dense.dst));
    s.starts_at = take(size_t(sparse_rows(p.dst) + 1) * sizeof(int64_t));
    s.count = plan_sparsify(p.dst, true);
    s.sparsify = plan_sparsify(p.dst, false);
    return s;
}

std::shared_ptr<const compiled_sparse> build(const sparse_desc &pd) {
    auto result = std::make_shared<compiled_sparse>(pd.engine->device);
    result->from_disk = true;
    if (pd.empty())
        return result;
    const auto make = [&](const std::optional<plan> &plan, helper &to) {
        if (!plan)
            return;
        to = make_helper(result->device, *plan, pd.build_flags());
        result->from_disk = result->from_disk && to.kernel->from_disk();
    };
    make(pd.steps.densify, result->densify);
    make(pd.steps.convert, result->convert);
    make(pd.steps.count, result->count);
    make(pd.steps.sparsify, result->sparsify);
    return result;
}

// Turns the number of values in each row into the number before each row, and that of all.
void add_up(ze::device &dev, const memory_desc &dst, void *counts) {
    std::vector<int64_t> numbers(size_t(sparse_rows(dst)) + 1);
    ze::copy_now(dev, numbers.data(), counts, (numbers.size() - 1) * sizeof(int64_t));
    int64_t total = 0;
    for (int64_t &number : numbers)
        total += std::exchange(number, total);
    // The last values of packed weights may be unused: oneDNN's users count the values before a conversion
    // makes some of them 0.
    const bool is_packed = dst.encoding == zemm_packed;
    if (numbers.back() > dst.nnz || (numbers.back() < dst.nnz && !is_packed))
        fail(zemm_invalid_arguments,
             "dst has nnz %lld, but src has %lld elements that are not 0 as %s: make dst's descriptor for as "
             "many",
             (long long)dst.nnz, (long long)numbers.back(), data_type_name(dst.data_type));
    ze::copy_now(dev, counts, numbers.data(), numbers.size() * sizeof(int64_t));
}

} // namespace

sparse_desc::sparse_desc(struct problem p, zemm_engine_t s, zemm_engine_t d)
    : zemm_primitive_desc(engine_of(s, d)), problem(std::move(p)), steps(steps_of(problem, *engine->device)),
      src_engine(s->shared_from_this()), dst_engine(d->shared_from_this()) {
    scratchpad_size = empty() ? 0 : steps.scratchpad_size;
    scratchpad = scratchpad_md(scratchpad_size);
    arguments = arguments_of(problem, s, d);
    if (!md_is_zero(scratchpad))
        arguments[ZEMM_ARG_SCRATCHPAD] = {.md = scratchpad, .is_scratchpad = true};
}

std::unique_ptr<zemm_primitive_desc> sparse_desc::clone() const {
    return std::make_unique<sparse_desc>(*this);
}

std::vector<const std::optional<plan> *> sparse_desc::plans() const {
    if (is_dst_sparse())
        return {&steps.sparsify, &steps.count, &steps.densify, &steps.convert};
    return {&steps.densify, &steps.convert};
}

const char *sparse_desc::build_flags() const {
    const bool large = is_large(problem.src) || is_large(problem.dst) || scratchpad_size > UINT32_MAX;
    return engine->kind == zemm_gpu ? gpu_build_flags(large) : "";
}

std::vector<ze::kernel_source> sparse_desc::sources() const {
    std::vector<ze::kernel_source> all;
    if (empty())
        return all;
    for (const std::optional<plan> *plan : plans())
        if (*plan)
            all.push_back(source_of(**plan, build_flags()));
    return all;
}

std::unique_ptr<zemm_primitive> sparse_desc::create(cache_result &found) const {
    auto shared = get_compiled(*this, found, [&] { return build(*this); });
    return std::make_unique<sparse_primitive>(
        clone(), std::static_pointer_cast<const compiled_sparse>(std::move(shared)));
}

void sparse_desc::query(zemm_query_t what, int index, void *result) const {
    if (!answer_engine(what, src_engine.get(), dst_engine.get(), result))
        zemm_primitive_desc::query(what, index, result);
}

std::string sparse_desc::log_text() const {
    return log_text_of(problem, engine->kind, impl_name(), "");
}

std::unique_ptr<const static_primitive::values>
sparse_primitive::read_values(ze::stream &stream, const std::map<int, zemm_memory_t> &memories,
                              std::span<const ze_event_handle_t> waits) const {
    const zemm_memory &src = *memories.at(ZEMM_ARG_FROM);
    if (is_sparse(src.md)) {
        stream.wait_for(waits);
        stream.wait();
        check_contents("src", src);
    }
    return nullptr;
}

void sparse_primitive::run(ze::stream &stream, const std::map<int, zemm_memory_t> &memories, const values *,
                           std::span<const ze_event_handle_t> waits) const {
    const auto &pd = static_cast<const sparse_desc &>(*this->pd);
    const bound_arguments bound{memories, pd.arguments};
    const zemm_memory &src = *memories.at(ZEMM_ARG_FROM), &dst = *memories.at(ZEMM_ARG_TO);
    char *const scratchpad = pd.scratchpad_size == 0 ? nullptr
                             : md_is_zero(pd.scratchpad)
                                 ? static_cast<char *>(stream.scratchpad(pd.scratchpad_size))
                                 : aligned_scratchpad(bound.pointer(ZEMM_ARG_SCRATCHPAD));
    stream.keep(compiled_);
    const void *from = src.parts[0].handle;
    if (pd.steps.densify) {
        void *to =
            pd.steps.convert || pd.is_dst_sparse() ? scratchpad + pd.steps.densified_at : dst.parts[0].handle;
        densify(stream, compiled_->densify, src, to, std::exchange(waits, {}));
        from = to;
    }
    if (pd.steps.convert) {
        void *to = pd.is_dst_sparse() ? scratchpad + pd.steps.converted_at : dst.parts[0].handle;
        launch_reorder(stream, compiled_->convert, from, to, bound, std::exchange(waits, {}));
        from = to;
    }
    if (!pd.is_dst_sparse())
        return;
    void *const starts = scratchpad + pd.steps.starts_at;
    sparsify(stream, compiled_->count, from, dst, starts, waits);
    stream.wait();
    add_up(*pd.engine->device, pd.problem.dst, starts);
    stream.keep(compiled_); // the wait has ended what it kept
    keep_buffers(stream, memories);
    sparsify(stream, compiled_->sparsify, from, dst, starts, {});
}

} // namespace zemm::reorder
