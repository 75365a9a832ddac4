// SPDX-License-Identifier: Apache-2.0
#include "matmul/choose/cpu_cut.hpp"

#include <algorithm>

#include "common/error.hpp"
#include "matmul/choose/cpu_rules.hpp"
#include "primitive/launch.hpp"

namespace zemm::matmul {

namespace {

void check_choice(const cut_choice &chosen, const kernel_row &row) {
    if (chosen.slices != 0)
        fail(zemm_unimplemented, "%s does not cut ranges of K into slices", row.name);
    if (chosen.rows > row.tile_m)
        fail(zemm_unimplemented, "%s has tiles of at most %d rows, not %lld", row.name, row.tile_m,
             (long long)chosen.rows);
}

// As many neighbouring tiles as leave enough work-items.
int32_t tiles_abreast(const facts &f, zemm_dim_t tiles, zemm_dim_t enough) {
    const zemm_dim_t most = most_abreast(f);
    zemm_dim_t abreast = 1;
    while (2 * abreast <= most && 2 * abreast * enough <= tiles)
        abreast *= 2;
    return int32_t(abreast);
}

} // namespace

// Tiles of nearly equal height, and enough work-groups for every core. If there are too few tiles for that,
// they first get lower, down to 16 rows. Then K is split into ranges. If K is not split, tiles get as low as
// the policy allows. A choice replaces the height of tiles, the number of ranges, or both.
cpu_cut cut_for_cpu(const facts &f, const cut_choice &chosen, const ze::device &dev) {
    const kernel_row &row = *f.row;
    const problem &p = f.run();
    const bool by_rows = p.grouped == grouping::rows;
    const zemm_dim_t rows = f.rows.likely, k = p.k(), batch = f.matrices;
    check_choice(chosen, row);
    cpu_cut c = {};
    const zemm_dim_t enough = enough_work_groups(dev);
    c.tiles_along_n = checked_ceil_div(p.n(), zemm_dim_t(row.tile_n) * row.group_x, "N");
    c.abreast = tiles_abreast(f, c.tiles_along_n, enough);
    c.along_n = checked_ceil_div(c.tiles_along_n, c.abreast, "N");
    const zemm_dim_t wanted = checked_ceil_div(enough, c.along_n * batch, "a device");
    const zemm_dim_t fewest = checked_ceil_div(rows, row.tile_m, "M");
    const auto tiles_of = [&](zemm_dim_t height) {
        return std::max(fewest, std::min(wanted, checked_ceil_div(rows, height, "M")));
    };
    zemm_dim_t tiles = tiles_of(low_tile(f)), ranges = most_ranges(f);
    if (ranges > 1)
        ranges = std::min(checked_ceil_div(enough, tiles * c.along_n * batch, "K"), ranges);
    ranges = std::max(chosen.ranges != 0 ? chosen.ranges : ranges, checked_ceil_div(k, f.longest_range, "K"));
    c.k_range = f.k_range(ranges);
    c.ranges = checked_ceil_div(k, c.k_range, "K");
    if (chosen.ranges != 0 && chosen.ranges != c.ranges)
        fail(zemm_unimplemented, "K of %lld has %lld ranges for %s, not %lld", (long long)k,
             (long long)c.ranges, row.name, (long long)chosen.ranges);
    if (c.ranges == 1)
        tiles = tiles_of(row.rows_at_once);
    c.tile_rows = int32_t(chosen.rows != 0 ? chosen.rows : checked_ceil_div(rows, tiles, "M"));
    if (f.family.has_tiles()) // it multiplies whole groups of rows, so that only the last may be cut
        c.tile_rows = int32_t(up(c.tile_rows, row.rows_at_once));
    c.along_m = by_rows ? 1 : checked_ceil_div(rows, c.tile_rows, "M");
    c.strip = int32_t(strip_of(chosen, 1, c.along_m, row));
    if (c.ranges == 1)
        return c;
    const zemm_dim_t finish_rows = checked_ceil_div(rows, std::min(rows, wanted), "M");
    c.finish_rows = int32_t(std::min<zemm_dim_t>(finish_rows, row.tile_m)); // a tile holds no more
    c.finish_along_m = by_rows ? 1 : checked_ceil_div(rows, c.finish_rows, "M");
    return c;
}

} // namespace zemm::matmul
