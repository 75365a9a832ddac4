// SPDX-License-Identifier: Apache-2.0
#include "matmul/cost.hpp"

#include <algorithm>
#include <cmath>

#include "common/error.hpp"
#include "matmul/plan_xe.hpp"

namespace zemm::matmul {

std::string cost::text() const {
    return zemm::text("%.0f clocks, %lld tiles of %.0f clocks of multiplying, %.0f of loads and %.0f of "
                      "scaling, %.0f %% of the peak",
                      clocks, (long long)tiles, multiplying, l1, scaling, 100 * utilisation);
}

// Per clock and XVE; a multiply-add is two.
static double operations(const ze::gpu_model &model, operands multiplies) {
    if (multiplies == operands::dp4a_int8)
        return 2.0 * std::max(32u, model.grf_bytes); // a register of bytes a clock
    if (multiplies == operands::dpas_tf32)
        return std::max(1u, model.xmx_f16_ops / 2);
    return std::max(1u, multiplies == operands::dpas_int8 ? model.xmx_int8_ops : model.xmx_f16_ops);
}

// An engine runs the tiles of its share one after the other; its threads hide the latency of loads from each
// other, so that with few tiles an engine waits for every block of K.
cost estimate(const problem &p, const kernel_row &row, const ze::device &dev) {
    constexpr double latency =
        500; // clocks from asking for a block to multiplying it, out of the second cache level
    const ze::gpu_model &model = dev.model;
    const bool is_int8 = p.integer();
    const double xves = std::max(1u, model.xves());
    const double ops = operations(model, row.multiplies);
    const double l1_bytes =
        std::max(1.0, double(model.l1_bytes_per_clock) / std::max(1u, model.xves_per_core));
    const double threads = std::max(1u, model.threads(row.grf));

    const zemm_dim_t tiles = tiles_of(p, row), ranges = k_ranges(p, row, dev);
    const double k = double(p.k()) / double(ranges);
    cost c = {};
    c.tiles = tiles * ranges;
    c.multiplying = 2.0 * row.tile_m * row.tile_n * k / ops;
    c.l1 = k * (row.tile_m * data_type_bits(p.src.data_type) + row.tile_n * data_type_bits(p.wei.data_type)) /
           8 / l1_bytes;
    const double sums = double(row.tile_m) * row.tile_n / row.lanes; // instructions for one operation on each
    if (scales_along_k(p))
        c.scaling =
            k / xe_block_k(p, row) * sums * (is_int8 ? 4 : 2); // conversion, zero point, one or two scales
    const double share = std::max(1.0, std::ceil(double(c.tiles) / xves)); // tiles of the busiest engine
    const double side_by_side = std::min(share, threads);
    const double waiting = k / row.tile_k * latency / side_by_side;
    // Where there is no XMX one pipe does both.
    const double alu = row.multiplies == operands::dp4a_int8 ? c.multiplying + c.scaling
                                                             : std::max(c.multiplying, c.scaling);
    c.clocks = share * std::max({alu, c.l1, waiting});
    const double work = 2.0 * double(p.batch()) * double(p.m()) * double(p.n()) * double(p.k()) / ops / xves;
    c.utilisation = work / c.clocks;
    return c;
}

} // namespace zemm::matmul
