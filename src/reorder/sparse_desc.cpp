// SPDX-License-Identifier: Apache-2.0
#include "reorder/sparse_desc.hpp"

#include <optional>
#include <utility>

#include "common/error.hpp"
#include "common/names.hpp"
#include "primitive/launch_plan.hpp"
#include "reorder/launches.hpp"
#include "reorder/primitive_desc.hpp"
#include "reorder/sparse.hpp"

namespace zemm::reorder {

namespace {

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

// Each launch reads the output of the one before it, in the scratchpad or in dst.
sequence launches_of(const problem &p, const ze::device &dev, scratch &dealt) {
    const bool is_dst_sparse = md_is_sparse(p.dst);
    sequence made;
    problem dense = p;
    operand from = address_of(ZEMM_ARG_FROM);
    std::optional<launch> densify, convert;
    if (md_is_sparse(p.src))
        dense.src = dense_md(p.src);
    if (is_dst_sparse)
        dense.dst = dense_md(p.dst);
    const bool converts = !p.is_copy() || !md_equal(dense.src, dense.dst);
    const auto place = [&](const memory_desc &md, bool is_last) {
        return is_last && !is_dst_sparse ? address_of(ZEMM_ARG_TO) : in_scratchpad(dealt.take(md_size(md)));
    };
    if (md_is_sparse(p.src)) {
        const operand to = place(dense.src, !converts);
        densify = densify_launch(p.src, ZEMM_ARG_FROM, to);
        from = to;
    }
    if (converts) {
        const operand to = place(dense.dst, true);
        convert = reorder_launch(candidates(dense, dev).front().second, from, to, dense);
        from = to;
    }
    if (is_dst_sparse) {
        const size_t at = dealt.take(size_t(sparse_rows(p.dst) + 1) * sizeof(int64_t));
        const operand starts = in_scratchpad(at);
        launch count = sparsify_launch(p.dst, true, from, ZEMM_ARG_TO, starts);
        count.then = [dst = p.dst, at](ze::device &device, char *scratchpad) {
            add_up(device, dst, scratchpad + at);
        };
        made.add_last(sparsify_launch(p.dst, false, from, ZEMM_ARG_TO, starts));
        made.add_first(std::move(count));
    }
    if (densify)
        made.add_first(std::move(*densify));
    if (convert)
        made.insert(densify ? 1 : 0, std::move(*convert));
    return made;
}

} // namespace

sparse_desc::sparse_desc(struct problem p, zemm_engine_t s, zemm_engine_t d)
    : zemm_primitive_desc(engine_of(s, d)), problem(std::move(p)), src_engine(s->shared_from_this()),
      dst_engine(d->shared_from_this()) {
    scratch dealt;
    sequence made = launches_of(problem, *engine->device, dealt);
    if (empty()) {
        made = {};
        dealt = {};
    }
    scratchpad_size = dealt.size();
    scratchpad = scratchpad_md(attr(), scratchpad_size);
    arguments = arguments_of(problem, s, d);
    if (!md_is_zero(scratchpad))
        arguments[ZEMM_ARG_SCRATCHPAD] = {.md = scratchpad, .is_scratchpad = true};
    if (engine->kind == zemm_gpu)
        made.set_flags(
            gpu_build_flags(is_large(problem.src) || is_large(problem.dst) || scratchpad_size > UINT32_MAX));
    launches = std::make_shared<const sequence>(std::move(made));
}

const char *sparse_desc::impl_name() const {
    return md_is_sparse(problem.dst) ? "sparsify" : "densify";
}

std::unique_ptr<zemm_primitive_desc> sparse_desc::clone() const {
    return std::make_unique<sparse_desc>(*this);
}

std::unique_ptr<zemm_primitive> sparse_desc::create(cache_result &found) const {
    return std::make_unique<sparse_primitive>(clone(), get_sequence(*this, found, [&] { return *launches; }),
                                              copy_launch);
}

void sparse_desc::query(zemm_query_t what, int index, void *result) const {
    if (!answer_engine(what, src_engine.get(), dst_engine.get(), result))
        zemm_primitive_desc::query(what, index, result);
}

std::string sparse_desc::log_text() const {
    return log_text_of(problem, engine->kind, impl_name(), "");
}

std::unique_ptr<const static_primitive::values>
sparse_primitive::read_values(ze::stream &stream, const memory_map &memories,
                              std::span<const ze_event_handle_t> waits) const {
    const zemm_memory &src = *memories.at(ZEMM_ARG_FROM);
    if (md_is_sparse(src.md)) {
        stream.wait_for(waits);
        stream.wait();
        check_contents("src", src);
    }
    return nullptr;
}

} // namespace zemm::reorder
