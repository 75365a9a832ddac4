// SPDX-License-Identifier: Apache-2.0
#include "matmul/choose/xe_cost.hpp"

#include <algorithm>
#include <cmath>

#include "common/error.hpp"
#include "matmul/choose/facts.hpp"

namespace zemm::matmul {

std::string cost::text() const {
    std::string words =
        zemm::text("%.0f clocks, %lld tiles of %.0f clocks of multiplying, %.0f of loads, %.0f of "
                   "scaling and %.0f of widening, %.0f %% of the peak",
                   clocks, (long long)tiles, multiplying, l1, scaling, widening, 100 * utilisation);
    if (packing != 0)
        words += zemm::text(", %.0f of the clocks for packing the weights first", packing);
    if (arranging != 0)
        words += zemm::text(", %.0f of the clocks for arranging src first", arranging);
    return gathers ? words + ", weights element by element" : words;
}

namespace {

// Operations per clock of an XVE (vector engine). A multiply-add counts as two.
double operations(const ze::gpu_model &model, const kernel_row &row) {
    switch (row.traits().multiplies_by) {
    case multiplier::dp4a:
        return 2.0 * std::max(32u, model.grf_bytes); // one register of bytes a clock
    case multiplier::fma:
        return std::max(32u, model.grf_bytes) / 2.0; // a register of f32 a clock
    case multiplier::dpas:
    case multiplier::vectors:
    case multiplier::tiles:
        break;
    }
    if (row.multiplies == operands::tf32)
        return std::max(1u, model.xmx_f16_ops / 2);
    return std::max(1u, row.multiplies == operands::int8 ? model.xmx_int8_ops : model.xmx_f16_ops);
}

// Assumed, not measured.
constexpr double latency = 500;    // clocks from the request for a block in the L2 cache to its use
constexpr double barrier = 60;     // clocks of a barrier of a work-group
constexpr double launch = 3000;    // clocks to start a second kernel that waits for the first
constexpr double l2_bytes = 64;    // bytes that an Xe core reads or writes a clock in the L2 cache
constexpr double memory_bytes = 8; // bytes a clock if the data does not fit into the L2 cache
constexpr double element = 100;    // clocks of a load of one element a lane from the L1 cache
constexpr double lanes = 16;       // elements that an Xe core loads a clock, one by each lane

// Instructions that convert a vector of weights, as tests/isa/judge counts them.
double conversion_of(const problem &p) {
    if (!is_small_float(p.wei.data_type))
        return 3;
    return p.src.data_type == zemm_bf16 ? 4 : 2;
}

// The vector engines (XVEs) of the device. Each runs its share of the tiles one after the other.
// Its threads hide one another's load latency; with few tiles, an engine waits for every block of
// K.
struct engine {
    double xves, cores, threads, fill;
    double tiles_of_busiest(zemm_dim_t work_groups, zemm_dim_t sub_groups) const {
        const double on_core = std::ceil(double(work_groups) / cores);
        return std::ceil(on_core * double(sub_groups) * fill / (xves / cores));
    }
};

} // namespace

cost estimate(const facts &f, const ze::gpu_model &model, const split &s) {
    const problem &p = f.run();
    const kernel_row &row = *f.row;
    const double ops = operations(model, row) / f.products;
    const double l1_bytes =
        std::max(1.0, double(model.l1_bytes_per_clock) / std::max(1u, model.xves_per_core));
    const engine e = {double(std::max(1u, model.xves())), double(std::max(1u, model.xe_cores)),
                      double(std::max(1u, model.threads(row.grf))), s.fill};
    const zemm_dim_t many = s.batch * s.ranges; // copies of the grid of one matrix
    const double elements = double(row.tile_m) * row.tile_n, k = double(s.k_range);

    cost c = {};
    c.tiles = s.sub_groups() * s.work_groups() * many;
    c.multiplying = 2.0 * elements * k / ops;
    c.l1 = k * (row.tile_m * data_type_bits(p.src.data_type) + row.tile_n * data_type_bits(p.wei.data_type)) /
           8 / l1_bytes;
    if (f.scales_along_k) // instructions per sum: conversion, zero point, one or two scales
        c.scaling = k / f.panel_k * elements / row.lanes * (p.integer() ? 4 : 2);
    // Vectors of elements that are converted to the type that is multiplied: f32 that is split, and
    // weights of integers and small floats. The factors are instructions per vector on each pipe, as
    // tests/isa/judge counts them.
    const double split =
        f.products == 1 ? 0 : k * (row.tile_m + (f.products > 2 ? row.tile_n : 0)) / row.lanes;
    const double widened = f.converts_weights() ? k * row.tile_n / row.lanes : 0;
    c.scaling += 4 * split;
    c.widening = 3 * split + conversion_of(p) * widened;
    // Without XMX, one pipe executes everything.
    const bool has_own_pipe = f.family.multiplies_by == multiplier::dpas;
    // It also executes the instructions for loads and loops: 140 to 210 a block, as tests/isa/judge counts
    // them.
    const double others = k / f.panel_k * 150;
    const double alu =
        has_own_pipe ? std::max({c.multiplying, c.scaling, c.widening}) : c.multiplying + c.scaling + others;
    c.gathers = f.gathers_weights();
    const double loads = c.gathers ? k * row.tile_n / row.lanes : 0; // one element a lane each
    if (c.gathers) // an Xe core reads one cache line a clock
        c.l1 += loads * (f.laid_out->has_near_columns ? 1 : row.lanes) *
                double(std::max(1u, model.xves_per_core));
    const double waiting = k / row.tile_k * latency + loads * element;
    const double busy = std::max(alu, c.l1);
    const auto clocks_of = [&](double tiles) {
        return tiles * std::max(busy, waiting / std::min(std::max(1.0, tiles), e.threads));
    };

    c.clocks = clocks_of(e.tiles_of_busiest(s.whole * many, s.tiles()));
    if (s.slices > 1) {
        const double tiles = e.tiles_of_busiest(s.sliced() * many, s.sub_groups());
        const double moved = 2 * elements * sizeof(float) / l1_bytes; // to local memory and back
        c.clocks += clocks_of(tiles) * double(s.k_slice) / k + tiles * moved +
                    row.tile_m / row.rows_at_once * 2 * barrier;
    }
    if (s.ranges > 1)
        c.clocks += launch + 2 * elements * sizeof(float) * double(c.tiles / s.slices) / (l2_bytes * e.cores);
    const double work = 2.0 * double(f.rows.all) * double(p.n()) * double(p.k()) / ops / e.xves;
    c.utilisation = work / c.clocks;
    return c;
}

namespace {

// The clocks of a launch that writes the tensor `to` from `from`, in lanes of one element.
double copying(const memory_desc &from, const memory_desc &to, const ze::gpu_model &model) {
    const double bytes = double(md_size(from) + md_size(to));
    const double elements = double(md_size(to)) * 8 / data_type_bits(to.data_type);
    const double at_once = bytes <= double(model.l2_bytes) ? l2_bytes : memory_bytes;
    return launch + std::max(bytes / at_once, elements / lanes) / std::max(1u, model.xe_cores);
}

} // namespace

void cost::add(double more) {
    utilisation *= clocks / (clocks + more);
    clocks += more;
}

void cost::pack_first(const memory_desc &plain, const memory_desc &packed, const ze::gpu_model &model) {
    packing = copying(plain, packed, model);
    add(packing);
}

void cost::arrange_first(const memory_desc &src, const memory_desc &arranged, const ze::gpu_model &model) {
    arranging = copying(src, arranged, model);
    add(arranging);
}

} // namespace zemm::matmul
