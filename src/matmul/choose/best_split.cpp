// SPDX-License-Identifier: Apache-2.0
// Finds the cheapest split.
#include <algorithm>
#include <cmath>

#include "common/error.hpp"
#include "matmul/choose/facts.hpp"
#include "matmul/choose/split.hpp"
#include "matmul/choose/tuning.hpp"
#include "matmul/choose/xe_cost.hpp"
#include "primitive/launch_plan.hpp"

namespace zemm::matmul {

namespace {

constexpr zemm_dim_t shortest_gpu_range = 1024; // elements of K; shorter ones move too many sums
constexpr double clear_win = 0.95; // of the clocks without a split: estimates are no more exact than 5 %

// Cuts K into at least so many ranges.
void cut_k(split &s, const facts &f, zemm_dim_t ranges) {
    const zemm_dim_t k = f.run().k();
    ranges = std::max(ranges, checked_ceil_div(k, f.longest_range, "K"));
    s.k_range = f.k_range(ranges);
    s.ranges = checked_ceil_div(k, s.k_range, "K");
}

// Deals tiles in groups of group_x x at most group_y, without slices.
split deal(const facts &f, zemm_dim_t group_x, zemm_dim_t group_y) {
    const problem &p = f.run();
    const kernel_row &row = *f.row;
    const bool by_rows = p.grouped == grouping::rows;
    // With groups of rows: about as many as an execution has.
    const zemm_dim_t tiles_m = by_rows ? f.matrices * checked_ceil_div(f.rows.likely, row.tile_m, "M")
                                       : checked_ceil_div(f.matrix_rows, row.tile_m, "M");
    split s = {};
    s.slices = 1;
    s.group_x = group_x;
    s.group_y = std::min(group_y, tiles_m);
    s.along_n = checked_ceil_div(p.n(), row.tile_n * group_x, "N");
    s.along_m = checked_ceil_div(tiles_m, s.group_y, "M");
    s.batch = by_rows ? 1 : f.matrices;
    s.fill = double(tiles_m * checked_ceil_div(p.n(), row.tile_n, "N")) / double(s.groups() * s.tiles());
    s.whole = s.groups();
    cut_k(s, f, 1);
    s.k_slice = s.k_range;
    return s;
}

} // namespace

split best_split(const facts &f, const ze::gpu_model &model, const cut_choice &chosen) {
    const kernel_row &row = *f.row;
    if (chosen.rows != 0)
        fail(zemm_unimplemented, "%s has tiles of %d rows: they cannot be chosen", row.name, row.tile_m);
    const zemm_dim_t on_core = std::max<zemm_dim_t>(1, model.xves_per_core * model.threads(row.grf));
    const zemm_dim_t cores = std::max<zemm_dim_t>(1, model.xe_cores);
    const zemm_dim_t k = f.run().k(), unit = f.range_unit;

    split best = deal(f, row.group_x, row.group_y);
    const auto is_allowed = [&](const split &s) {
        return (chosen.ranges == 0 || chosen.ranges == s.ranges) &&
               (chosen.slices == 0 || chosen.slices == s.slices);
    };
    bool found = is_allowed(best);
    double fewest = found ? estimate(f, model, best).clocks : 0;
    const auto consider = [&](split s, zemm_dim_t ranges, zemm_dim_t slices) {
        cut_k(s, f, ranges);
        s.slices = slices;
        s.k_slice = std::min(s.k_range, up(checked_ceil_div(s.k_range, slices, "K"), unit));
        const size_t bytes = local_bytes(s, row);
        const size_t at_once = size_t(std::max<zemm_dim_t>(1, on_core / s.sub_groups()));
        if (bytes > model.slm_per_group || at_once * bytes > model.slm_per_core || !is_allowed(s))
            return;
        const double clocks = estimate(f, model, s).clocks;
        if (!found || clocks < clear_win * fewest) {
            best = s;
            fewest = clocks;
            found = true;
        }
    };
    for (const bool in_groups : {true, false}) {
        if (f.run().grouped == grouping::rows) // no kernel adds up parts of K of such tiles
            break;
        split s = in_groups ? best : deal(f, 1, 1);
        const zemm_dim_t tiles = s.groups() * s.tiles() * s.batch;
        if (!in_groups && tiles > cores * on_core) // enough tiles: keep groups, which share reads
            break;
        const zemm_dim_t wave = cores * std::max<zemm_dim_t>(1, on_core / s.tiles());
        for (zemm_dim_t slices = 2; slices <= on_core; slices *= 2) {
            if (slices >= 2 * checked_ceil_div(k, unit, "K") || (in_groups && s.tiles() % slices != 0))
                break;
            s.whole = in_groups && s.batch == 1 ? s.groups() / wave * wave : 0;
            if (s.whole < s.groups())
                consider(s, 1, slices);
            s.whole = 0;
            zemm_dim_t ranges = std::min(cores * on_core / (tiles * slices), k / shortest_gpu_range);
            if (chosen.ranges != 0)
                ranges = chosen.ranges;
            if (ranges > 1)
                consider(s, ranges, slices);
        }
    }
    if (!found)
        fail(zemm_unimplemented, "%s does not split the problem so:%s", row.name, chosen.text().c_str());
    return best;
}

// The work-groups that run at the same time read least if their tiles form a square of dst elements. With
// groups of rows each entry of the table is a strip, however many there will be.
void cut_strips(split &s, const facts &f, const ze::gpu_model &model, const cut_choice &chosen) {
    const kernel_row &row = *f.row;
    const double at_once = double(model.xves() * model.threads(row.grf)) / double(s.tiles() * s.slices);
    const double high = std::sqrt(at_once * row.tile_n * double(s.group_x) / double(row.tile_m * s.group_y));
    const bool by_rows = f.run().grouped == grouping::rows;
    s.strip = strip_of(chosen, zemm_dim_t(std::lround(high)), by_rows ? zemm_dim_t(1) : s.along_m, row);
}

} // namespace zemm::matmul
