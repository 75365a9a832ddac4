// SPDX-License-Identifier: Apache-2.0
#include "matmul/dispatch.hpp"

#include <algorithm>

#include "common/env.hpp"
#include "common/error.hpp"
#include "common/verbose.hpp"
#include "matmul/cost.hpp"
#include "matmul/layouts.hpp"
#include "matmul/plan.hpp"
#include "matmul/predicates.hpp"
#include "primitive/refusals.hpp"
#include "zemm/zemm.h"

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
#define ZEMM_HELPER(name)
#include "kernels/kernels.def"
#undef ZEMM_XE_MATMUL
#undef ZEMM_MATMUL
};

// A sub-group has one lane for each column of a vector.
#define ZEMM_MATMUL(...)
#define ZEMM_XE_MATMUL(src, tile_m, tile_n, tile_k, policy, lanes, group_x, group_y, grf, family,            \
                       multiplies, supports)                                                                 \
    static_assert(traits_of(isa_family::family).sub_group == lanes);
#include "kernels/kernels.def"
#undef ZEMM_XE_MATMUL
#undef ZEMM_MATMUL
#undef ZEMM_HELPER

// Whether a problem has enough rows and K for tiles of 16 rows by 64 bytes along K. With fewer, other
// rows of the list are as fast or faster.
bool fills_tiles(const facts &f, std::string &why) {
    constexpr zemm_dim_t fewest_rows = 16, fewest_bytes = 64;
    const problem &p = f.problem();
    const zemm_dim_t rows = p.shares_weights() ? p.batch() * p.m() : p.m();
    const zemm_dim_t fewest_k = fewest_bytes / operand_bytes(f.row->multiplies);
    if (rows >= fewest_rows && f.segment >= fewest_k)
        return true;
    why = text("its tiles want %lld rows and groups of %lld along K, here are %lld and %lld",
               (long long)fewest_rows, (long long)fewest_k, (long long)rows, (long long)f.segment);
    return false;
}

// Refuses problems that are better for another row: those that do not fill tiles of AMX, many rows for
// a kernel that is for few or the other way round, and those for the wide tile after this narrow one, where
// the narrow tiles would compute more than three quarters of the columns that wide ones would. A kernel that
// multiplies without a panel is always kept.
bool suits(const facts &f, std::string &why) {
    const kernel_row &row = *f.row;
    if (row.traits().has_tiles() && !fills_tiles(f, why))
        return false;
    const problem &p = f.problem();
    const zemm_dim_t n = p.n(), rows = p.shares_weights() ? p.batch() * p.m() : p.m();
    if (row.is_for_few_rows() && rows > row.tile_m) {
        why = text("it is for up to %d rows, here are %lld", row.tile_m, (long long)rows);
        return false;
    }
    // Fewer are limited by reading the weights, or by converting them to bf16.
    const bool converts = f.wei != reading::packed || p.wei.data_type != zemm_bf16;
    const zemm_dim_t fewest_rows = converts ? 7 : 5;
    if (row.family == isa_family::avx512_bf16 && rows < fewest_rows) {
        why = text("fewer than %lld rows are as fast in f32", (long long)fewest_rows);
        return false;
    }
    if (row.wide_n == 0 || f.is_without_panel || 4 * up(n, row.tile_n) <= 3 * up(n, row.wide_n))
        return true;
    why = text("a tile of %d columns is better", row.wide_n);
    return false;
}

// Finds the cheapest way to deal tiles and K. Packs the weights first if that is cheaper than
// reading them element by element, or if the row cannot do the latter.
cost deal(candidate &c, const layouts &in, const ze::gpu_model &model) {
    cost best = {};
    const bool can_gather = c.facts.row->can_gather() && !c.facts.laid_out->is_foreign;
    if (!c.facts.packing || can_gather) {
        c.dealt = best_split(c.facts, model);
        best = estimate(c.facts, model, c.dealt);
    }
    if (c.facts.packing) {
        const facts packed = facts_of(*c.facts.row, in.of_problem, c.facts.packing->packed);
        const split dealt = best_split(packed, model);
        cost with_packing = estimate(packed, model, dealt);
        with_packing.pack_first(c.facts.problem().wei, packed.problem().wei, model);
        if (!can_gather || with_packing.clocks < best.clocks) {
            c.packed = packed;
            c.dealt = dealt;
            best = with_packing;
        }
    }
    c.clocks = best.clocks;
    return best;
}

// Sorts the rows for GPUs by their estimated clocks.
void sort_tiles(const problem &p, const ze::device &dev, const layouts &in, std::vector<candidate> &found) {
    if (in.of_problem.empty)
        return;
    const auto is_xe = [](const candidate &c) { return c.facts.family.is_xe(); };
    const auto end = std::partition_point(found.begin(), found.end(), is_xe);
    const ze::gpu_model model = xe_model(dev);
    for (auto c = found.begin(); c != end; ++c) {
        const cost estimated = deal(*c, in, model);
        if (verbose::enabled(verbose::dispatch))
            verbose::print(text("primitive,create:cost,matmul,%s,%s%s,%s", c->facts.row->name,
                                estimated.text().c_str(), c->dealt.text().c_str(), dims_line(p).c_str()));
    }
    std::stable_sort(found.begin(), end,
                     [](const candidate &a, const candidate &b) { return a.clocks < b.clocks; });
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
        if (!fits_sub_group(f, dev, why) || (!is_forced && !suits(f, why)))
            return std::nullopt;
        candidate c = {std::move(f)};
        if (c.facts.packing && !row.is_xe()) // for GPUs, deal() decides by cost
            c.packed = facts_of(row, in.of_problem, c.facts.packing->packed);
        return c;
    } catch (const error &e) { // the layout does not exist, such as for a 4-bit type with odd rows
        why = e.what();
        return std::nullopt;
    }
}

} // namespace

std::vector<candidate> candidates(const problem &p, const ze::device &dev) {
    const std::string forced = env("ZEMM_KERNEL");
    layouts in(p, dev);
    std::vector<candidate> result;
    refusals refused("matmul", [&p] { return dims_line(p); });
    for (const kernel_row &row : list) {
        std::string why;
        if (!forced.empty() && forced != row.name)
            why = "ZEMM_KERNEL asks for another kernel";
        else if (forced.empty() && row.is_xe() && dev.kind == zemm_cpu)
            why = "it is for GPUs; on the CPU device, which has its instructions in software, only "
                  "ZEMM_KERNEL takes it";
        else if (forced.empty() && row.traits().has_tiles() && !dev.features.has(row.tiles()))
            why = text("the device does not report %s; only ZEMM_KERNEL takes it, with tiles in software",
                       ze::feature_name(row.tiles()));
        else if (std::optional<candidate> c = consider(row, in, dev, !forced.empty(), why)) {
            result.push_back(std::move(*c));
            continue;
        }
        refused.add(row.name, std::move(why));
    }
    if (result.empty())
        refused.fail();
    sort_tiles(p, dev, in, result);
    return result;
}

} // namespace zemm::matmul
