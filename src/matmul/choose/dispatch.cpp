// SPDX-License-Identifier: Apache-2.0
#include "matmul/choose/dispatch.hpp"

#include <algorithm>

#include "common/env.hpp"
#include "common/error.hpp"
#include "common/verbose.hpp"
#include "kernels/args/matmul_args.h"
#include "matmul/choose/cpu_rules.hpp"
#include "matmul/choose/layouts.hpp"
#include "matmul/choose/predicates.hpp"
#include "matmul/choose/tuning.hpp"
#include "matmul/choose/xe_cost.hpp"
#include "matmul/problem/packed_weights.hpp"
#include "primitive/launch_plan.hpp"
#include "primitive/refusals.hpp"

namespace zemm::matmul {

namespace {

// ---- the list

using enum ze::feature;

const kernel_row list[] = {
#define ZEMM_MATMUL(src, tile_m, tile_n, tile_k, policy, rows_at_once, lanes, group_x, wide_n, family,       \
                    multiplies, weights, supports)                                                           \
    {"matmul_" #src "_any_any_" #tile_m "x" #tile_n "x" #tile_k "_" #policy,                                 \
     tile_m,                                                                                                 \
     tile_n,                                                                                                 \
     tile_k,                                                                                                 \
     rows_at_once,                                                                                           \
     lanes,                                                                                                  \
     group_x,                                                                                                \
     1,                                                                                                      \
     wide_n,                                                                                                 \
     0,                                                                                                      \
     isa_family::family,                                                                                     \
     operands::multiplies,                                                                                   \
     weights_layout::weights,                                                                                \
     supports},
#define ZEMM_XE_MATMUL(src, tile_m, tile_n, tile_k, policy, lanes, group_x, group_y, grf, family,            \
                       multiplies, supports)                                                                 \
    {"matmul_" #src "_any_any_" #tile_m "x" #tile_n "x" #tile_k "_" #policy,                                 \
     tile_m,                                                                                                 \
     tile_n,                                                                                                 \
     tile_k,                                                                                                 \
     8,                                                                                                      \
     lanes,                                                                                                  \
     group_x,                                                                                                \
     group_y,                                                                                                \
     0,                                                                                                      \
     grf,                                                                                                    \
     isa_family::family,                                                                                     \
     operands::multiplies,                                                                                   \
     weights_layout::packed,                                                                                 \
     supports},
#include "lists/kernels.def"
};

// A sub-group has one lane for each column of a vector.
#define ZEMM_XE_MATMUL(src, tile_m, tile_n, tile_k, policy, lanes, group_x, group_y, grf, family,            \
                       multiplies, supports)                                                                 \
    static_assert(traits_of(isa_family::family).sub_group == lanes);
#include "lists/kernels.def"

// Finds the cheapest way to deal tiles and K. Packs the weights first if that is cheaper than
// reading them element by element, or if the row cannot do the latter.
cost deal(candidate &c, const layouts &in, const ze::gpu_model &model) {
    cost best = {};
    const bool can_gather = c.asked.row->can_gather() && !c.asked.laid_out->is_foreign;
    if (!c.asked.packing || can_gather) {
        c.dealt = best_split(c.asked, model, c.cut);
        best = estimate(c.asked, model, c.dealt);
    }
    if (c.asked.packing) {
        const facts packed = facts_of(*c.asked.row, in.of_problem, c.asked.packing->packed);
        const split dealt = best_split(packed, model, c.cut);
        cost with_packing = estimate(packed, model, dealt);
        with_packing.pack_first(c.asked.run().wei, packed.run().wei, model);
        if (!can_gather || with_packing.clocks < best.clocks) {
            c.packed = packed;
            c.dealt = dealt;
            best = with_packing;
        }
    }
    if (c.run().arranged)
        best.arrange_first(c.problem().src, c.run().run().src, model);
    cut_strips(c.dealt, c.run(), model, c.cut);
    c.clocks = best.clocks;
    return best;
}

// Sorts the rows for GPUs by their estimated clocks.
void sort_tiles(const problem &p, const ze::device &dev, const layouts &in, std::vector<candidate> &found) {
    if (in.of_problem.empty)
        return;
    const auto is_xe = [](const candidate &c) { return c.asked.family.is_xe(); };
    const auto end = std::partition_point(found.begin(), found.end(), is_xe);
    if (end == found.begin())
        return;
    const ze::gpu_model model = xe_model(dev);
    for (auto c = found.begin(); c != end; ++c) {
        const cost estimated = deal(*c, in, model);
        if (verbose::enabled(verbose::dispatch))
            verbose::print(text("primitive,create:cost,matmul,%s,%s%s,%s", c->asked.row->name,
                                estimated.text().c_str(), c->dealt.text().c_str(), dims_line(p).c_str()));
    }
    std::stable_sort(found.begin(), end,
                     [](const candidate &a, const candidate &b) { return a.clocks < b.clocks; });
}

// The type in which the row multiplies src.
zemm_data_type_t multiplied_type(const facts &f) {
    if (f.row->multiplies == operands::int8)
        return f.run().src.data_type;
    if (f.row->multiplies == operands::f32)
        return zemm_f32;
    return f.family.half_is_f16 ? zemm_f16 : zemm_bf16;
}

// src with its rows of K one after the other. Those for tiles are WIDE_ROW apart.
memory_desc wide_src(const facts &f) {
    const memory_desc &src = f.run().src;
    const zemm_data_type_t type = multiplied_type(f);
    if (!f.family.has_tiles())
        return md_with_strides(src.ndims, src.dims, type, nullptr);
    const zemm_dim_t line = 8 * 64 / data_type_bits(type); // elements in a cache line
    zemm_dim_t strides[ZEMM_MAX_NDIMS], stride = WIDE_ROW(f.run().k(), line) * (f.splits_src ? 2 : 1);
    strides[src.ndims - 1] = 1;
    for (int d = src.ndims - 2; d >= 0; stride *= src.dims[d--])
        strides[d] = stride;
    return md_with_strides(src.ndims, src.dims, type, strides);
}

// nullptr if the row reads src as it is. f: of the problem with the weights as the row reads them.
std::shared_ptr<const src_widening> widen_first(const facts &f, const ze::device &dev) {
    if (f.empty || f.family.is_xe() || dev.kind != zemm_cpu || !is_worth_widening(f, multiplied_type(f), dev))
        return nullptr;
    auto result = std::make_shared<src_widening>();
    problem wide = f.run();
    wide.src = wide_src(f);
    const problem_facts of_problem = facts_of(wide);
    result->wide =
        facts_of(*f.row, of_problem, std::make_shared<const laid_out_problem>(wide, wide.wei, of_problem));
    result->wide.splits_src = f.splits_src;
    return result;
}

// The row as a candidate. If it does not take the problem: nothing, and the reason in why.
std::optional<candidate> consider(const kernel_row &row, layouts &in, const ze::device &dev, bool is_forced,
                                  std::string &why) {
    try {
        facts f = facts_of(row, in.of_problem, in.wanted(row));
        if (!row.supports(f, dev, why))
            return std::nullopt;
        in.pack_first(f);
        if (f.laid_out->is_foreign && !f.empty && !f.packing) {
            why = f.why_not_packed;
            return std::nullopt;
        }
        if ((row.is_xe() && !fits_sub_group(f, dev, why)) || (!is_forced && !suits(f, dev, why)))
            return std::nullopt;
        candidate c = {std::move(f)};
        if (c.asked.packing && !row.is_xe()) // for GPUs, deal() decides by cost
            c.packed = facts_of(row, in.of_problem, c.asked.packing->packed);
        c.widening = widen_first(c.run(), dev);
        return c;
    } catch (const error &e) { // the layout does not exist, such as for a 4-bit type with odd rows
        why = e.what();
        return std::nullopt;
    }
}

// Why the row takes no problem of the device unless ZEMM_KERNEL names it; "" if it may.
std::string why_only_forced(const kernel_row &row, const ze::device &dev) {
    if (row.is_xe() && dev.kind == zemm_cpu)
        return "it is for GPUs; on the CPU device, which has its instructions in software, only "
               "ZEMM_KERNEL takes it";
    if (row.traits().has_tiles() && !dev.features.has(row.tiles()))
        return text("the device does not report %s; only ZEMM_KERNEL takes it, with tiles in software",
                    ze::feature_name(row.tiles()));
    return "";
}

// The choice as a candidate. If it does not fit the problem: nothing, and the reason in why.
std::optional<candidate> consider(const choice &chosen, layouts &in, const ze::device &dev,
                                  std::string &why) {
    std::optional<candidate> c = consider(*chosen.row, in, dev, true, why);
    if (!c || in.of_problem.empty || chosen.cut == cut_choice())
        return c;
    c->cut = chosen.cut;
    try {
        if (chosen.row->is_xe())
            deal(*c, in, xe_model(dev));
        else
            cut_for_cpu(c->run(), c->cut, dev);
    } catch (const error &e) {
        why = e.what();
        return std::nullopt;
    }
    return c;
}

// Puts the choice of a tuning file in front of the others. It must not ask callers for more than they do.
void prefer_tuned(const problem &p, const ze::device &dev, layouts &in, std::vector<candidate> &found) {
    const choice *chosen = p.grouped == grouping::none ? tuned(p, dev) : nullptr;
    if (!chosen || in.of_problem.empty)
        return;
    std::string why = why_only_forced(*chosen->row, dev);
    std::optional<candidate> c = why.empty() ? consider(*chosen, in, dev, why) : std::nullopt;
    if (c) {
        const facts &wanted = c->asked, &usual = found.front().asked;
        if (wanted.src_alignment > usual.src_alignment || wanted.wei_alignment > usual.wei_alignment)
            why = "it reads tensors in blocks, which have to be aligned";
    }
    if (!why.empty()) {
        warn_unused(p, *chosen, why);
        return;
    }
    c->is_tuned = true;
    found.insert(found.begin(), std::move(*c));
}

// How much of a name one has to type anew to get a row's name. What is missing costs least.
size_t distance(std::string_view name, std::string_view row) {
    std::vector<size_t> costs(row.size() + 1);
    for (size_t j = 0; j <= row.size(); j++)
        costs[j] = j;
    for (size_t i = 0; i < name.size(); i++) {
        size_t diagonal = costs[0];
        costs[0] += 4;
        for (size_t j = 0; j < row.size(); j++) {
            const size_t changed = diagonal + (name[i] == row[j] ? 0 : 4);
            diagonal = costs[j + 1];
            costs[j + 1] = std::min({changed, diagonal + 4, costs[j] + 1});
        }
    }
    return costs.back();
}

// The fault of a value of ZEMM_KERNEL of which no choice can be made.
std::string wrong_kernel(std::string_view forced, const std::string &no_choice, const ze::device &dev) {
    const std::string name(forced.substr(0, std::min<size_t>(forced.find(':'), 100)));
    if (find_row(name))
        return no_choice;
    std::vector<std::pair<size_t, std::string>> near;
    for (const kernel_row &row : list)
        if (why_only_forced(row, dev).empty())
            near.emplace_back(distance(name, row.name), row.name);
    std::ranges::sort(near);
    std::string names;
    for (size_t i = 0; i < near.size() && i < 3; i++)
        names += (i ? ", " : "; near names: ") + near[i].second;
    return text("no kernel is named %s%s", name.c_str(), names.c_str());
}

// The rows that take the problem, the best one first. Those that do not are in `refused`, with their reasons.
std::vector<candidate> find_rows(const problem &p, const ze::device &dev, layouts &in, refusals &refused) {
    const std::string forced = env("ZEMM_KERNEL");
    std::string no_choice;
    const std::optional<choice> asked = forced.empty() ? std::nullopt : parse_choice(forced, no_choice);
    if (!forced.empty() && !asked)
        fail(zemm_unimplemented, "ZEMM_KERNEL, for the matmul %s: %s", dims_line(p).c_str(),
             wrong_kernel(forced, no_choice, dev).c_str());
    std::vector<candidate> result;
    for (const kernel_row &row : list) {
        if (asked && asked->row != &row)
            continue;
        std::string why = asked ? "" : why_only_forced(row, dev);
        std::optional<candidate> c;
        if (asked)
            c = consider(*asked, in, dev, why);
        else if (why.empty())
            c = consider(row, in, dev, false, why);
        if (c)
            result.push_back(std::move(*c));
        else
            refused.add(row.name, std::move(why));
    }
    sort_tiles(p, dev, in, result);
    if (forced.empty() && !result.empty())
        prefer_tuned(p, dev, in, result);
    return result;
}

} // namespace

const kernel_row *find_row(std::string_view name) {
    const auto found = std::ranges::find_if(list, [&](const kernel_row &row) { return name == row.name; });
    return found == std::end(list) ? nullptr : found;
}

std::vector<candidate> candidates(const problem &p, const ze::device &dev) {
    const auto find = [&](bool converts_packed) {
        layouts in(p, dev, converts_packed);
        refusals refused("matmul", [&p] { return dims_line(p); });
        std::vector<candidate> found = find_rows(p, dev, in, refused);
        if (found.empty() && (converts_packed || !is_packed_weights(p.wei)))
            refused.fail();
        return found;
    };
    std::vector<candidate> found = find(false);
    return found.empty() ? find(true) : found; // weights that no row reads as they are packed
}

} // namespace zemm::matmul
