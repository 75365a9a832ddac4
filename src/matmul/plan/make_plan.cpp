// SPDX-License-Identifier: Apache-2.0
#include "matmul/plan/plan.hpp"

#include <algorithm>
#include <optional>

#include "common/attr.hpp"
#include "common/error.hpp"
#include "common/verbose.hpp"
#include "kernels/args/matmul_args.h"
#include "matmul/choose/arithmetic.hpp"
#include "matmul/choose/cpu_rules.hpp"
#include "matmul/choose/layouts.hpp"
#include "matmul/choose/tuning.hpp"
#include "matmul/plan/arguments.hpp"
#include "matmul/plan/constants.hpp"
#include "matmul/plan/plan_xe.hpp"
#include "matmul/plan/src_copies.hpp"
#include "primitive/launch_plan.hpp"
#include "reorder/launches.hpp"

namespace zemm::matmul {

namespace {

using kernels::matmul_problem;

void encode(const cpu_cut &cut, zemm_dim_t batch, plan &result) {
    const kernel_row &row = *result.row;
    matmul_problem &block = *result.argument_block;
    block.abreast = cut.abreast;
    block.k_range = cut.k_range;
    block.tile_rows = cut.tile_rows;
    block.strip = cut.strip;
    result.group_size = {uint32_t(row.group_x), 1, 1};
    result.group_count = {work_groups(cut.along_m * cut.along_n, 1, "M x N"),
                          uint32_t(result.has_row_groups() ? 1 : batch), uint32_t(cut.ranges)};
    if (cut.ranges == 1)
        return;
    block.adding_rows = cut.adding_rows;
    result.adding_count = {work_groups(cut.adding_along_m * cut.tiles_along_n, 1, "M x N"),
                           result.group_count[1], 1};
    take_partials(result, cut.tiles_along_n * row.tile_n * row.group_x, cut.ranges);
}

// The values that the kernel gets. reductions: where the sums of src are, if not in the caller's argument. p:
// the caller's problem.
host_values main_values(const plan &made, const problem &p, const operand &reductions) {
    auto values = values_of_problem(p);
    if (reductions.what != operand::none)
        values.set(values.fixed.reductions, reductions);
    if (made.is_split())
        values.set(values.fixed.partials, in_scratchpad(made.partials_at));
    if (p.grouped != grouping::none)
        values.set(values.fixed.groups, table_address);
    return values.made();
}

// made: with its argument block.
launch main_launch(const plan &made, const operand &src, const operand &wei, host_values values,
                   std::vector<ze::spec_constant> constants, zemm_dim_t operations) {
    launch l;
    l.plan = {.kernel = made.row->name,
              .entry = "matmul",
              .constants = std::move(constants),
              .block = shared_bytes::of(made.argument_block),
              .group_size = made.group_size,
              .group_count = made.group_count,
              .operations = operations};
    l.operands = {src, wei, address_of(ZEMM_ARG_DST), block_address, first_values};
    if (made.row->is_xe())
        l.operands[5] = {operand::local, 0, made.local_bytes};
    l.values[0] = std::move(values);
    l.is_repeated = made.has_row_groups();
    return l;
}

// The second launch of a split K.
launch add_ranges_launch(const plan &made, launch main, std::vector<ze::spec_constant> constants) {
    main.plan.constants = std::move(constants);
    main.plan.block = {}; // the main launch's
    main.plan.group_count = made.adding_count;
    return main;
}

// Sums of an integer src over each segment of K, with which zero points leave the loop over K. The kernel
// reduce_src writes them into the scratchpad before the matmul runs, unless the caller passes them.
// The tensor with the sums: dense s32 [src batch.., M, K / segment].
memory_desc reductions_md(const problem &p, zemm_dim_t segment) {
    zemm_dims_t dims;
    std::copy(p.src.dims, p.src.dims + p.ndims(), dims);
    dims[p.ndims() - 1] = checked_ceil_div(p.k(), segment, "K");
    return md_dense(p.ndims(), dims, zemm_s32);
}

// The launch of reduce_src, which reads the main launch's argument block.
launch reduce_launch(const facts &f, const memory_desc &reductions, const operand &src, const operand &to) {
    const problem &p = f.run();
    launch l;
    l.plan.kernel = "reduce_src";
    l.plan.constants = {{SPEC_SRC_DT, uint32_t(p.src.data_type)}, {SPEC_SRC_UNIT, f.src_unit}};
    l.plan.group_count = {work_groups(reductions.dims[p.ndims() - 1], REDUCE_SEGMENTS, "K"),
                          work_groups(f.rows.all, 1, "M"), 1};
    l.plan.operations = md_nelems(p.src);
    l.operands = {src, to, block_address};
    return l;
}

} // namespace

void take_partials(plan &p, zemm_dim_t columns, zemm_dim_t ranges) {
    matmul_problem &block = *p.argument_block;
    block.partial_row = columns;
    block.partial_range = block.partial_row * block.rows * p.group_count[1];
    p.partials_at = p.scratchpad.take(size_t(block.partial_range * ranges) * sizeof(float));
}

plan make_plan(const candidate &c, const ze::device &dev) {
    plan result = {};
    const facts &f = c.run();
    const kernel_row &row = *f.row;
    const problem &p = f.run();
    result.row = &row;
    const problem &asked = c.problem();
    operand src = address_of(ZEMM_ARG_SRC), wei = address_of(ZEMM_ARG_WEIGHTS);
    std::vector<launch> changes; // of src and of the weights, the last one first
    if (c.packed) {
        const operand packed = in_scratchpad(result.scratchpad.take(md_size(p.wei)));
        changes.push_back(reorder::reorder_launch(c.asked.packing->move, wei, packed, {}));
        wei = packed;
    }
    if (c.widening) {
        const operand wide = in_scratchpad(result.scratchpad.take(widened_size(f)));
        changes.push_back(widen_launch(asked.src, p.src, src, wide));
        src = wide;
    }
    if (f.arranged) {
        const operand arranged = in_scratchpad(result.scratchpad.take(md_size(f.arranged->seen_src)));
        changes.insert(changes.begin(), arrange_launch(f.asked(), *f.arranged, src, arranged));
        src = arranged;
    }
    result.argument_block = std::make_shared<matmul_problem>(make_argument_block(f));
    matmul_problem &block = *result.argument_block;
    if (f.empty) {
        result.launches = std::make_shared<const sequence>();
        return result;
    }

    const bool is_xe = row.is_xe();
    const arithmetic a = arithmetic_of(f);
    uint32_t flags = common_flags(f, a);
    const zemm_dim_t batch = checked_ceil_div(f.matrices, 1, "the batch");
    if (is_xe) {
        flags |= xe_flags(f, a);
        xe_pitches(f, block);
        xe_cut(c.dealt, batch, result);
    } else {
        const cpu_cut cut = cut_for_cpu(f, c.cut, dev);
        encode(cut, batch, result);
        result.quantizes_src = quantizes_row(f, cut, dev);
    }
    // With wide sums, the sum of a range must fit into an s32 together with its zero-point terms.
    // So each range becomes a segment, which has its own sums of src.
    if ((flags & FLAG_WIDE_SUMS) && block.segment == block.k)
        block.segment = block.k_range;

    const bool may_be_one_group = f.wei_reading == reading::packed || a.reads_rows || f.waits_for_panel();
    if (!is_xe && may_be_one_group && block.tile_rows <= row.rows_at_once)
        flags |= FLAG_ONE_GROUP;
    if (f.family.has_few_rows && f.wei_reading == reading::packed && block.tile_rows <= MOST_FEW_ROWS)
        flags |= FLAG_FEW_ROWS;
    const zemm_dim_t abreast_k = flags & FLAG_ONE_GROUP ? BLOCK_ALONG_N : BLOCK_ABREAST;
    const zemm_dim_t block_k = is_xe                ? f.panel_k * f.panels
                               : f.is_without_panel ? BLOCK_ALONG_K
                               : block.abreast > 1  ? abreast_k
                                                    : row.tile_k;
    // If K is one segment, it may be cut into ranges.
    if (block.segment <= std::min<zemm_dim_t>(block_k, block.k_range))
        flags |= FLAG_WHOLE_SEGMENTS;
    if (block.abreast > 1)
        flags |= FLAG_ABREAST;
    if (result.local_bytes != 0)
        flags |= FLAG_SLICES;
    result.flags = flags;
    operand reductions;
    std::optional<launch> reduce;
    if (flags & FLAG_REDUCTIONS) {
        const memory_desc md = reductions_md(p, block.segment);
        block.reductions = tensor(md);
        // The caller's sums may cover several segments: then they are of no use.
        if (f.reduction_group != block.segment) {
            reductions = in_scratchpad(result.scratchpad.take(md_size(md)));
            reduce = reduce_launch(f, md, src, reductions);
        }
    }
    const auto constants = [&](kernels::stage stage) {
        if (is_xe)
            return xe_constants(f, a, flags, stage);
        return stage == kernels::STAGE_ADD_RANGES ? cpu_add_ranges_constants(flags)
                                                  : cpu_constants(f, a, dev, flags, result.quantizes_src);
    };
    const bool is_split = result.is_split();
    sequence launches;
    launches.require_alignment(ZEMM_ARG_SRC, c.asked.src_alignment);
    launches.require_alignment(ZEMM_ARG_WEIGHTS, c.asked.wei_alignment);
    launches.add_last(main_launch(result, src, wei, main_values(result, asked, reductions),
                                  constants(is_split ? kernels::STAGE_PARTIAL : kernels::STAGE_WHOLE),
                                  operations_of(p)));
    if (is_split)
        launches.add_last(
            add_ranges_launch(result, launches.launches().front(), constants(kernels::STAGE_ADD_RANGES)));
    const size_t of_row = launches.launches().size();
    if (reduce)
        launches.add_first(std::move(*reduce));
    for (launch &change : changes)
        launches.add_first(std::move(change));
    // Kernels with GPU policies get a GPU's build flags on any engine, also on the CPU device.
    if (dev.kind == zemm_gpu || is_xe) {
        const bool large = has_large(asked, result.scratchpad.size());
        launches.set_flags(gpu_build_flags(large, row.grf == 256));
        launches.set_flags(gpu_build_flags(large), of_row);
    }
    result.launches = std::make_shared<const sequence>(std::move(launches));
    return result;
}

namespace {

// The plan of a choice of a tuning file. If it cannot be used: nothing, and the reason in why. usual: what
// runs without it.
std::optional<plan> plan_tuned(const candidate &c, const candidate &usual, const ze::device &dev,
                               std::string &why) {
    constexpr size_t surplus = 64 << 20; // bytes of scratchpad
    try {
        plan wanted = make_plan(c, dev);
        if (wanted.scratchpad.size() <= surplus)
            return wanted;
        const size_t usual_size = make_plan(usual, dev).scratchpad.size();
        if (wanted.scratchpad.size() <= usual_size + surplus)
            return wanted;
        why = text("it needs %zu bytes of scratchpad, the usual kernel %zu", wanted.scratchpad.size(),
                   usual_size);
    } catch (const error &e) {
        why = e.what();
    }
    return std::nullopt;
}

} // namespace

planned plan_first(const problem &p, const ze::device &dev) {
    planned made = {candidates(p, dev), {}};
    std::vector<candidate> &found = made.candidates;
    if (found.front().is_tuned) {
        const choice chosen = {found.front().asked.row, found.front().cut};
        std::string why;
        if (std::optional<plan> first = plan_tuned(found[0], found[1], dev, why)) {
            if (verbose::enabled(verbose::dispatch))
                verbose::print(text("primitive,create:tuned,matmul,%s%s,%s", chosen.row->name,
                                    chosen.cut.text().c_str(), dims_line(p).c_str()));
            const auto is_again = [&](const candidate &c) {
                return !c.is_tuned && c.asked.row == chosen.row;
            };
            std::erase_if(found, is_again);
            made.first = std::move(*first);
            return made;
        }
        warn_unused(p, chosen, why);
        found.erase(found.begin());
    }
    made.first = make_plan(found.front(), dev);
    return made;
}

namespace {

// " name:id=value;id=value" of a kernel that the plan launches.
std::string launch_text(const char *name, const std::vector<ze::spec_constant> &constants) {
    std::string words = text(" %s:", name);
    for (const ze::spec_constant &c : constants)
        words += text("%s%u=%u", &c == &constants.front() ? "" : ";", c.id, c.value);
    return words;
}

// The launches with their constants, then how the problem is cut.
std::string plan_text(const plan &made) {
    std::string words = text("flags:%u%s", made.flags, made.launches->empty() ? " matmul:" : "");
    for (const launch &l : made.launches->launches()) {
        const bool is_main = &l == &made.launches->launches().front();
        const bool is_of_row = l.plan.kernel == made.row->name;
        words += launch_text(is_main ? "matmul" : is_of_row ? "add_ranges" : l.plan.kernel, l.plan.constants);
    }
    const kernels::matmul_problem &b = *made.argument_block;
    const auto &g = made.group_count;
    return words + text(" grouping:%d segment:%lld rows:%lld tile_rows:%d adding_rows:%d abreast:%d strip:%d "
                        "slices:%d k_range:%lld groups:%ux%ux%u",
                        b.grouping, (long long)b.segment, (long long)b.rows, b.tile_rows, b.adding_rows,
                        b.abreast, b.strip, b.slices, (long long)b.k_range, g[0], g[1], g[2]);
}

} // namespace

void log_plan(const char *event, const problem &p, const plan &made) {
    if (verbose::enabled(verbose::plan))
        verbose::print(text("primitive,%s:plan,matmul,%s,%s,%s", event, made.row->name,
                            plan_text(made).c_str(), dims_line(p).c_str()));
}

} // namespace zemm::matmul
