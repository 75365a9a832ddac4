// SPDX-License-Identifier: Apache-2.0
#include "matmul/cost.hpp"

#include <algorithm>
#include <cmath>

#include "common/error.hpp"
#include "matmul/plan_xe.hpp"

namespace zemm::matmul {

std::string cost::text() const {
    return zemm::text(
        "%.0f clocks, %lld tiles of %.0f clocks of XMX, %.0f of loads and %.0f of scaling, %.0f %% of XMX",
        clocks, (long long)tiles, xmx, l1, scaling, 100 * utilisation);
}

// An engine runs the tiles of its share one after the other; its threads hide the latency of loads from each
// other, so that with few tiles an engine waits for every block of K.
cost estimate(const problem &p, const kernel_row &row, const ze::device &dev) {
    constexpr double latency =
        500; // clocks from asking for a block to multiplying it, out of the second cache level
    const ze::gpu_model &model = dev.model;
    const bool is_int8 = row.multiplies == operands::dpas_int8;
    const double xves = std::max(1u, model.xves());
    const double ops = std::max(1u, is_int8 ? model.xmx_int8_ops : model.xmx_f16_ops);
    const double l1_bytes =
        std::max(1.0, double(model.l1_bytes_per_clock) / std::max(1u, model.xves_per_core));
    const double threads = std::max(1u, model.threads(row.grf));

    const zemm_dim_t tiles = tiles_of(p, row), ranges = k_ranges(p, row, dev);
    const double k = double(p.k()) / double(ranges);
    cost c = {};
    c.tiles = tiles * ranges;
    c.xmx = 2.0 * row.tile_m * row.tile_n * k / ops;
    c.l1 = k * (row.tile_m * data_type_bits(p.src.data_type) + row.tile_n * data_type_bits(p.wei.data_type)) /
           8 / l1_bytes;
    const double sums = double(row.tile_m) * row.tile_n / row.lanes; // instructions for one operation on each
    if (scales_along_k(p))
        c.scaling =
            k / xe_block_k(p, row) * sums * (is_int8 ? 4 : 2); // conversion, zero point, one or two scales
    const double share = std::max(1.0, std::ceil(double(c.tiles) / xves)); // tiles of the busiest engine
    const double side_by_side = std::min(share, threads);
    const double waiting = k / row.tile_k * latency / side_by_side;
    c.clocks = share * std::max({c.xmx, c.l1, c.scaling, waiting});
    const double work = 2.0 * double(p.batch()) * double(p.m()) * double(p.n()) * double(p.k()) / ops / xves;
    c.utilisation = work / c.clocks;
    return c;
}

} // namespace zemm::matmul
