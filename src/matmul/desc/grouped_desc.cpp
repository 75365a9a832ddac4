// SPDX-License-Identifier: Apache-2.0
#include "matmul/desc/grouped_desc.hpp"

#include <algorithm>
#include <bit>

#include "common/error.hpp"
#include "matmul/plan/arguments.hpp"
#include "reorder/launches.hpp"

namespace zemm::matmul {

namespace {

// Sizes that stand for all of a range: powers of two. Each has its own choice of a kernel.
group_sizes round_up(const group_sizes &sizes) {
    const auto up = [](int32_t x) {
        return x <= 1 ? 1 : int32_t(std::min<uint32_t>(std::bit_ceil(uint32_t(x)), INT32_MAX));
    };
    return {up(sizes.largest), up(sizes.count)};
}

std::string key_of(const group_sizes &sizes) {
    return text("%d,%d", sizes.largest, sizes.count);
}

// Sizes of groups if all had the same number of rows.
group_sizes likely_sizes(const problem &asked) {
    constexpr zemm_dim_t most = INT32_MAX;
    const zemm_dim_t rows = asked.src.dims[0], count = asked.src.group_count;
    return round_up(
        {int32_t(std::min(most, (rows + count - 1) / count)), int32_t(std::min({most, rows, count}))});
}

problem with_sizes(problem p, const group_sizes &sizes) {
    p.likely_rows = sizes.largest;
    p.likely_groups = sizes.count;
    return p;
}

std::unique_ptr<zemm_primitive_desc> likely_desc(zemm_engine_t engine, const grouped_problem &p) {
    return std::make_unique<primitive_desc>(engine, with_sizes(p.batched, likely_sizes(p.asked)));
}

struct grouped_values : static_primitive::values {
    std::string log_text() const override { return log; }

    struct part {
        std::shared_ptr<const zemm_primitive> inner; // computes the batch
        group_table table;
    };
    std::vector<part> parts;
    std::string log;
};

} // namespace

grouped_desc::grouped_desc(zemm_engine_t e, grouped_problem p)
    : deferred_desc(e, likely_desc(e, p)), problem_(std::move(p)) {
    take_from_likely();
}

// Takes over the layout of the weights. The caller's tensors take the places of those of the batch.
void grouped_desc::take_from_likely() {
    const auto &chosen = static_cast<const primitive_desc &>(likely());
    problem &asked = problem_.asked;
    problem_.batched.wei = chosen.asked().wei;
    if (!md_is_grouped(asked.wei))
        asked.wei = problem_.batched.wei;
    scratchpad_size = chosen.scratchpad_size;
    arguments = arguments_of(problem_.batched, {});
    arguments.at(ZEMM_ARG_SRC).md = asked.src;
    arguments.at(ZEMM_ARG_WEIGHTS).md = asked.wei;
    arguments.at(ZEMM_ARG_DST).md = asked.dst;
    if (asked.has_bias())
        arguments.at(ZEMM_ARG_BIAS).md = asked.bias;
    int index = 0;
    for (const post_op &op : asked.attr.post_ops.entries) {
        const int arg = ZEMM_ARG_ATTR_MULTIPLE_POST_OP(index++) | ZEMM_ARG_SRC_1;
        if (!md_is_zero(op.src1))
            arguments.at(arg).md = op.src1;
    }
}

std::unique_ptr<zemm_primitive_desc> grouped_desc::clone() const {
    return std::make_unique<grouped_desc>(*this);
}

bool grouped_desc::next_impl() {
    if (!deferred_desc::next_impl())
        return false;
    take_from_likely();
    return true;
}

std::string grouped_desc::tuning_text() const {
    fail(zemm_unimplemented,
         "a grouped matmul cannot be tuned: its kernel depends on the sizes of the groups");
}

std::string grouped_desc::log_text_of_impl(const char *impl_name) const {
    return log_text_of(problem_.asked, engine->kind, impl_name, "");
}

std::unique_ptr<zemm_primitive_desc> grouped_desc::of_sizes(const group_sizes &sizes) const {
    return settle(std::make_unique<primitive_desc>(engine.get(), with_sizes(problem_.batched, sizes)));
}

std::unique_ptr<zemm_primitive> grouped_desc::create(cache_result &found) const {
    std::shared_ptr<const zemm_primitive> first = likely().create(found);
    enter_cache();
    return std::make_unique<grouped_primitive>(clone(), likely_sizes(problem_.asked), std::move(first));
}

grouped_primitive::grouped_primitive(std::unique_ptr<const zemm_primitive_desc> desc, group_sizes sizes,
                                     std::shared_ptr<const zemm_primitive> likely)
    : static_primitive(std::move(desc), reorder::copy_launch) {
    by_sizes_.add(key_of(sizes), std::move(likely));
}

int32_t grouped_primitive::few_rows(int32_t largest) const {
    const auto &desc = static_cast<const grouped_desc &>(*pd);
    const std::lock_guard hold(lock_);
    if (pd->engine->kind != zemm_cpu)
        return 0;
    if (const auto known = few_by_largest_.find(largest); known != few_by_largest_.end())
        return known->second;
    const std::string usual = desc.of_sizes({largest, 1})->impl_name();
    int32_t few = 0;
    for (const int32_t rows : {MOST_FEW_ROWS, 8, 4})
        if (few == 0 && rows < largest && desc.of_sizes({rows, 1})->impl_name() != usual)
            few = rows;
    return few_by_largest_[largest] = few;
}

// Earlier work may write the offsets, so it has to be done first.
std::unique_ptr<const static_primitive::values>
grouped_primitive::read_values(ze::stream &stream, const memory_map &memories,
                               std::span<const ze_event_handle_t> waits) const {
    const auto &desc = static_cast<const grouped_desc &>(*pd);
    stream.wait_for(waits);
    stream.wait();
    const group_ends ends = read_ends("src", *memories.at(ZEMM_ARG_SRC));
    for (const auto &[arg, argument] : desc.arguments)
        if (arg != ZEMM_ARG_SRC && md_is_grouped(argument.md)) {
            const std::string name = argument_name(arg);
            check_same_ends("src", ends, name, read_ends(name, *memories.at(arg)));
        }
    auto read = std::make_unique<grouped_values>();
    const group_sizes sizes = round_up(sizes_of(ends));
    std::vector<group_range> ranges(1);
    if (desc.has_row_groups()) {
        constexpr int32_t worth_a_launch = 4; // groups
        const int32_t few = few_rows(sizes.largest);
        if (few != 0 && sizes_of(ends, {0, few}).count >= worth_a_launch)
            ranges = {{few, INT32_MAX}, {0, few}};
    }
    std::string names;
    for (const group_range &range : ranges) {
        const group_sizes own = ranges.size() == 1 ? sizes : round_up(sizes_of(ends, range));
        auto inner = by_sizes_.get(key_of(own), [&] { return desc.of_sizes(own); });
        const plan &plan = static_cast<const primitive_desc &>(*inner->pd).decided->plan;
        const bool in_groups = plan.row->traits().has_tiles(); // of rows, of which only the last may be cut
        auto table =
            make_table(pd->engine->device,
                       plan.has_row_groups()
                           ? parts_of_rows(ends, range, plan.argument_block->tile_rows,
                                           in_groups ? plan.row->rows_at_once : 1, int(plan.tiles_along_m))
                           : parts_of_k(ends));
        names += (names.empty() ? "" : "+") + std::string(inner->pd->impl_name());
        read->parts.push_back({std::move(inner), std::move(table)});
    }
    read->log = desc.log_text_of_impl(names.c_str());
    return read;
}

void grouped_primitive::run(ze::stream &stream, const memory_map &memories, const values *read,
                            std::span<const ze_event_handle_t> waits) const {
    for (const auto &part : static_cast<const grouped_values &>(*read).parts) {
        stream.keep(part.inner);
        if (part.table.count != 0)
            static_cast<const primitive &>(*part.inner).run_groups(stream, memories, &part.table, waits);
    }
}

} // namespace zemm::matmul
