// SPDX-License-Identifier: Apache-2.0
#include "common/error.hpp"
#include "matmul/desc/compiled.hpp"
#include "matmul/plan/plan_text.hpp"

namespace zemm::matmul {

namespace {

void check_alignment(int arg, const void *data, size_t alignment, const kernel_row &row) {
    const size_t behind = reinterpret_cast<uintptr_t>(data) % alignment;
    if (behind != 0)
        fail(zemm_invalid_arguments,
             "%s begins %zu bytes behind a multiple of %zu: %s reads it in blocks, which have to begin at "
             "one; "
             "move the data, or take the next implementation",
             argument_name(arg).c_str(), behind, alignment, row.name);
}

} // namespace

void primitive::submit(ze::stream &stream, const std::map<int, zemm_memory_t> &memories,
                       const group_table *groups, std::span<const ze_event_handle_t> waits) const {
    const compiled &c = *compiled_;
    const auto &pd = static_cast<const primitive_desc &>(*this->pd);
    const bound_arguments bound{memories, pd.arguments};
    const struct plan &plan = c.plan;
    const void *src = bound.pointer(ZEMM_ARG_SRC), *wei = bound.pointer(ZEMM_ARG_WEIGHTS);
    const void *dst = bound.pointer(ZEMM_ARG_DST), *block = c.argument_block->data();
    check_alignment(ZEMM_ARG_SRC, src, plan.src_alignment, *plan.row);
    check_alignment(ZEMM_ARG_WEIGHTS, wei, plan.wei_alignment, *plan.row);
    log_plan("exec", pd.asked(), plan);
    stream.keep(compiled_);
    const char *scratchpad = nullptr;
    if (plan.scratchpad_size != 0)
        scratchpad = md_is_zero(pd.scratchpad)
                         ? static_cast<const char *>(stream.scratchpad(plan.scratchpad_size))
                         : aligned_scratchpad(bound.pointer(ZEMM_ARG_SCRATCHPAD));
    kernels::matmul_arguments values = arguments_by_value(bound, pd.asked());
    uint32_t times = 1; // what the plan's tiles along M are repeated for
    if (groups) {
        stream.keep(groups->memory);
        values.groups = reinterpret_cast<uint64_t>(groups->data);
        if (plan.has_row_groups())
            times = groups->count / plan.tiles_along_m;
    }
    const auto launch = [&](ze::kernel &kernel, std::array<uint32_t, 3> group_size,
                            std::array<uint32_t, 3> group_count,
                            std::span<const ze::kernel_argument> arguments) {
        stream.launch(kernel, group_size, group_count, arguments, waits);
        waits = {};
    };

    if (plan.pack.kernel) {
        const void *packed = scratchpad + plan.packed_at, *pack_block = c.pack.block->data();
        const kernels::reorder_arguments none = {};
        const ze::kernel_argument args[] = {{sizeof(void *), &wei},
                                            {sizeof(void *), &packed},
                                            {sizeof(void *), &pack_block},
                                            {sizeof(none), &none}};
        launch(*c.pack.kernel, plan.pack.group_size, plan.pack.group_count, args);
        wei = packed;
    }
    if (plan.widen.kernel) {
        const void *wide = scratchpad + plan.wide_at, *widen_block = c.widen.block->data();
        const ze::kernel_argument args[] = {
            {sizeof(void *), &src}, {sizeof(void *), &wide}, {sizeof(void *), &widen_block}};
        launch(*c.widen.kernel, plan.widen.group_size, plan.widen.group_count, args);
        src = wide;
    }
    if (plan.arrange.kernel) {
        const void *arranged = scratchpad + plan.arranged_at, *arrange_block = c.arrange.block->data();
        const void *scales = values.src_scale ? reinterpret_cast<const void *>(values.src_scale) : src;
        const ze::kernel_argument args[] = {{sizeof(void *), &src},
                                            {sizeof(void *), &arranged},
                                            {sizeof(void *), &arrange_block},
                                            {sizeof(void *), &scales}};
        launch(*c.arrange.kernel, plan.arrange.group_size, plan.arrange.group_count, args);
        src = arranged;
    }
    if (plan.computes_reductions) {
        const void *reductions = scratchpad + plan.reductions_at;
        values.reductions = reinterpret_cast<uint64_t>(reductions);
        const ze::kernel_argument args[] = {
            {sizeof(void *), &src}, {sizeof(void *), &reductions}, {sizeof(void *), &block}};
        launch(*c.reduce_src, {1, 1, 1}, plan.reduce_count, args);
    }
    values.partials = reinterpret_cast<uint64_t>(scratchpad + plan.partials_at);
    const ze::kernel_argument all[] = {{sizeof(void *), &src},    {sizeof(void *), &wei},
                                       {sizeof(void *), &dst},    {sizeof(void *), &block},
                                       {sizeof(values), &values}, {plan.local_bytes, nullptr}};
    const std::span<const ze::kernel_argument> args(all, plan.row->is_xe() ? 6 : 5);
    const auto all_tiles = [&](std::array<uint32_t, 3> group_count) {
        group_count[0] = work_groups(zemm_dim_t(group_count[0]) * times, 1, "M x N");
        return group_count;
    };
    launch(*c.matmul, plan.group_size, all_tiles(plan.group_count), args);
    if (c.finish)
        launch(*c.finish, plan.group_size, all_tiles(plan.finish_count), args);
}

} // namespace zemm::matmul
