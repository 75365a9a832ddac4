// SPDX-License-Identifier: Apache-2.0
#include "matmul/split.hpp"

#include <algorithm>

#include "common/error.hpp"
#include "matmul/cost.hpp"
#include "matmul/dispatch.hpp"
#include "matmul/plan.hpp"
#include "matmul/plan_xe.hpp"
#include "matmul/sums.hpp"

namespace zemm::matmul {

namespace {

constexpr zemm_dim_t shortest_range = 1024; // of K: partial sums of many are much to write and read
constexpr double worth_splitting = 0.95;    // of the clocks without: an estimate is no more exact

// K in at least so many ranges.
void cut_k(split &s, const problem &p, const kernel_row &row, zemm_dim_t ranges) {
    ranges = std::max(ranges, groups(p.k(), longest_range(p), "K"));
    s.k_range = k_range(p.k(), k_segment(p), row.tile_k, ranges);
    s.ranges = groups(p.k(), s.k_range, "K");
}

// Tiles, in groups of group_x x at most group_y.
split deal(const problem &p, const kernel_row &row, zemm_dim_t group_x, zemm_dim_t group_y) {
    const zemm_dim_t rows = xe_rows(p), tiles_m = groups(rows, row.tile_m, "M");
    split s = {};
    s.slices = 1;
    s.group_x = group_x;
    s.group_y = std::min(group_y, tiles_m);
    s.along_n = groups(p.n(), row.tile_n * group_x, "N");
    s.along_m = groups(tiles_m, s.group_y, "M");
    s.batch = p.batch() * p.m() / rows;
    s.fill = double(tiles_m * groups(p.n(), row.tile_n, "N")) / double(s.groups() * s.tiles());
    s.whole = s.groups();
    cut_k(s, p, row, 1);
    s.k_slice = s.k_range;
    return s;
}

} // namespace

zemm_dim_t split::sub_groups() const {
    return std::max(tiles(), slices);
}

zemm_dim_t split::sliced() const {
    return (groups() - whole) * (tiles() * slices / sub_groups());
}

std::string split::text() const {
    std::string words;
    if (ranges > 1)
        words = zemm::text(", K in %lld ranges", (long long)ranges);
    if (slices > 1 && whole > 0)
        words += zemm::text(", the last %lld of %lld groups of %lld tiles in %lld slices of K",
                            (long long)(groups() - whole), (long long)groups(), (long long)tiles(),
                            (long long)slices);
    else if (slices > 1)
        words += zemm::text(ranges > 1 ? " of %lld slices" : ", K in %lld slices", (long long)slices);
    return words;
}

size_t local_bytes(const split &s, const kernel_row &row) {
    constexpr size_t rows_at_once = 8;
    return s.slices == 1 ? 0 : size_t(s.sub_groups()) * rows_at_once * size_t(row.tile_n) * sizeof(float);
}

ze::gpu_model xe_model(const ze::device &dev) {
    if (dev.kind == zemm_gpu)
        return dev.model;
    ze::gpu_model small = {};
    small.xmx_int8_ops = 512;
    small.xmx_f16_ops = 256;
    small.threads_128 = small.threads_256 = 4;
    small.xe_cores = 2;
    small.xves_per_core = 8;
    small.l1_bytes_per_clock = 128;
    small.slm_per_core = small.slm_per_group = 64 << 10;
    return small;
}

split best_split(const problem &p, const kernel_row &row, const ze::gpu_model &model) {
    const zemm_dim_t on_core = std::max<zemm_dim_t>(1, model.xves_per_core * model.threads(row.grf));
    const zemm_dim_t cores = std::max<zemm_dim_t>(1, model.xe_cores);
    const zemm_dim_t segment = k_segment(p), unit = segment < p.k() ? segment : row.tile_k;

    split best = deal(p, row, row.group_x, row.group_y);
    double fewest = estimate(p, row, model, best).clocks;
    const auto consider = [&](split s, zemm_dim_t ranges, zemm_dim_t slices) {
        cut_k(s, p, row, ranges);
        s.slices = slices;
        s.k_slice = std::min(s.k_range, up(groups(s.k_range, slices, "K"), unit));
        const size_t bytes = local_bytes(s, row);
        const size_t at_once = size_t(std::max<zemm_dim_t>(1, on_core / s.sub_groups()));
        if (bytes > model.slm_per_group || at_once * bytes > model.slm_per_core)
            return;
        const double clocks = estimate(p, row, model, s).clocks;
        if (clocks < worth_splitting * fewest) {
            best = s;
            fewest = clocks;
        }
    };
    for (const bool in_groups : {true, false}) {
        split s = in_groups ? best : deal(p, row, 1, 1);
        const zemm_dim_t tiles = s.groups() * s.tiles() * s.batch;
        if (!in_groups && tiles > cores * on_core) // neighbours are to share what they read
            break;
        const zemm_dim_t wave = cores * std::max<zemm_dim_t>(1, on_core / s.tiles());
        for (zemm_dim_t slices = 2; slices <= on_core; slices *= 2) {
            if (slices >= 2 * groups(p.k(), unit, "K") || (in_groups && s.tiles() % slices != 0))
                break;
            s.whole = in_groups && s.batch == 1 ? s.groups() / wave * wave : 0;
            if (s.whole < s.groups())
                consider(s, 1, slices);
            s.whole = 0;
            const zemm_dim_t ranges = std::min(cores * on_core / (tiles * slices), p.k() / shortest_range);
            if (ranges > 1)
                consider(s, ranges, slices);
        }
    }
    return best;
}

} // namespace zemm::matmul
