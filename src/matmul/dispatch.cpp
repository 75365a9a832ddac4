// SPDX-License-Identifier: Apache-2.0
#include "matmul/dispatch.hpp"

#include <algorithm>

#include "common/env.hpp"
#include "common/error.hpp"
#include "common/verbose.hpp"
#include "matmul/cost.hpp"
#include "matmul/pack_first.hpp"
#include "matmul/packing.hpp"
#include "matmul/plan.hpp"
#include "matmul/plan_xe.hpp"
#include "matmul/predicates.hpp"
#include "zemm/zemm.h"

namespace zemm::matmul {

namespace {

// ---- the list

using enum operands;
using enum ze::feature;

const kernel_row rows[] = {
#define ZEMM_MATMUL(src, wei, dst, tile_m, tile_n, tile_k, policy, rows_at_once, lanes, group_x, wide_n,     \
                    family, operands, weights, supports)                                                     \
    {"matmul_" #src "_" #wei "_" #dst "_" #tile_m "x" #tile_n "x" #tile_k "_" #policy,                       \
     tile_m,                                                                                                 \
     tile_n,                                                                                                 \
     tile_k,                                                                                                 \
     rows_at_once,                                                                                           \
     lanes,                                                                                                  \
     group_x,                                                                                                \
     wide_n,                                                                                                 \
     1,                                                                                                      \
     1,                                                                                                      \
     0,                                                                                                      \
     isa_family::family,                                                                                     \
     operands,                                                                                               \
     weights_layout::weights,                                                                                \
     supports},
#define ZEMM_XE_MATMUL(src, wei, dst, tile_m, tile_n, tile_k, policy, lanes, group_x, group_y, grf, family,  \
                       operands, supports)                                                                   \
    {"matmul_" #src "_" #wei "_" #dst "_" #tile_m "x" #tile_n "x" #tile_k "_" #policy,                       \
     tile_m,                                                                                                 \
     tile_n,                                                                                                 \
     tile_k,                                                                                                 \
     8,                                                                                                      \
     lanes,                                                                                                  \
     group_x,                                                                                                \
     0,                                                                                                      \
     lanes,                                                                                                  \
     group_y,                                                                                                \
     grf,                                                                                                    \
     isa_family::family,                                                                                     \
     operands,                                                                                               \
     weights_layout::packed,                                                                                 \
     supports},
#define ZEMM_HELPER(name)
#include "kernels/kernels.def"
#undef ZEMM_XE_MATMUL
#undef ZEMM_MATMUL
};

// A sub-group has a lane for each column of its vectors.
#define ZEMM_MATMUL(...)
#define ZEMM_XE_MATMUL(src, wei, dst, tile_m, tile_n, tile_k, policy, lanes, group_x, group_y, grf, family,  \
                       operands, supports)                                                                   \
    static_assert(traits_of(isa_family::family).sub_group == lanes);
#include "kernels/kernels.def"
#undef ZEMM_XE_MATMUL
#undef ZEMM_MATMUL
#undef ZEMM_HELPER

// The problem with the weights' layout that the row wants where the caller left it open.
problem resolve_weights(const problem &p, const kernel_row &row) {
    problem result = p;
    if (p.wei.format_kind != zemm_format_kind_any)
        return result;
    const bool loads_2d = row.work_items > 1 && !loads_1d(row);
    if (loads_2d && is_int8(p.wei.data_type)) { // these loads transform bytes as they read them
        md_resolve_any(result.wei);
        if (reads_wei_2d(result))
            return result;
        result = p;
    }
    if (row.multiplies == operands::dpas_tf32 && p.wei.data_type == zemm_f32) {
        result.wei = weights_along_k(p.wei); // a transposing load takes eight of K of f32 as DPAS wants them
        if (reads_wei_2d(result))
            return result;
        result = p;
    }
    if (row.weights == weights_layout::packed && segments_are_quads(p) && !p.empty())
        result.wei = packed_weights(p.wei);
    else
        md_resolve_any(result.wei);
    return result;
}

// A narrow tile leaves to the wide one after it what fills enough of that one, unless each of its columns is
// a stream of its own in memory.
bool suits(const problem &p, const kernel_row &row, std::string &why) {
    if (row.wide_n == 0 || multiplies_along_k(p, row) ||
        4 * up(p.n(), row.tile_n) <= 3 * up(p.n(), row.wide_n))
        return true;
    why = text("a tile of %d columns is better", row.wide_n);
    return false;
}

// How tiles and K are dealt, and whether weights that the row would gather are packed first: the cheapest.
cost deal(candidate &c, const ze::device &dev, const ze::gpu_model &model) {
    const kernel_row &row = *c.row;
    std::string why; // not needed: the row reads them otherwise, or was refused for it
    const std::shared_ptr<const packing> first = pack_for_xe(*c.problem, row, dev, why);
    cost best = {};
    if (!first || gathers(row)) {
        c.dealt = best_split(*c.problem, row, model);
        best = estimate(*c.problem, row, model, c.dealt);
    }
    if (first) {
        const problem &p = *first->problem;
        const split dealt = best_split(p, row, model);
        cost packed = estimate(p, row, model, dealt);
        packed.pack_first(c.problem->wei, p.wei, model);
        if (!gathers(row) || packed.clocks < best.clocks) {
            c.packs_first = first;
            c.dealt = dealt;
            best = packed;
        }
    }
    c.clocks = best.clocks;
    return best;
}

// Of rows that differ in their tile the cheapest first.
void sort_tiles(const problem &p, const ze::device &dev, std::vector<candidate> &found) {
    if (p.empty())
        return;
    const auto is_tile = [](const candidate &c) { return c.row->work_items > 1; };
    const auto end = std::partition_point(found.begin(), found.end(), is_tile);
    const ze::gpu_model model = xe_model(dev);
    for (auto c = found.begin(); c != end; ++c) {
        const cost estimated = deal(*c, dev, model);
        if (verbose::enabled(verbose::dispatch))
            verbose::print(text("primitive,create:cost,matmul,%s,%s%s,%s", c->row->name,
                                estimated.text().c_str(), c->dealt.text().c_str(), dims_line(p).c_str()));
    }
    std::stable_sort(found.begin(), end,
                     [](const candidate &a, const candidate &b) { return a.clocks < b.clocks; });
}

} // namespace

std::vector<candidate> candidates(const problem &p, const ze::device &dev) {
    const std::string forced = env("ZEMM_KERNEL");
    std::vector<candidate> result;
    std::vector<std::pair<const kernel_row *, std::string>> refusals;
    for (const kernel_row &row : rows) {
        std::string why;
        if (!forced.empty() && forced != row.name)
            why = "ZEMM_KERNEL asks for another kernel";
        else if (forced.empty() && row.work_items > 1 && dev.kind == zemm_cpu)
            why = "it is for GPUs; on the CPU device, which has its instructions in software, only "
                  "ZEMM_KERNEL takes it";
        else
            try {
                auto resolved = std::make_shared<const problem>(resolve_weights(p, row));
                if (row.supports(*resolved, dev, why) && fits_sub_group(*resolved, row, dev, why) &&
                    (!forced.empty() || suits(*resolved, row, why))) {
                    result.push_back({&row, std::move(resolved)});
                    continue;
                }
            } catch (const error &e) { // the layout does not exist, such as odd rows of a 4-bit type
                why = e.what();
            }
        if (verbose::enabled(verbose::dispatch))
            verbose::print(text("primitive,create:dispatch,matmul,%s,%s,%s", row.name, why.c_str(),
                                dims_line(p).c_str()));
        refusals.emplace_back(&row, std::move(why));
    }
    if (result.empty()) {
        std::string reasons;
        for (const auto &[row, why] : refusals)
            reasons += text("; %s: %s", row->name, why.c_str());
        fail(zemm_unimplemented, "no kernel takes the matmul %s%s", dims_line(p).c_str(), reasons.c_str());
    }
    sort_tiles(p, dev, result);
    return result;
}

} // namespace zemm::matmul
