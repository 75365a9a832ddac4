// SPDX-License-Identifier: Apache-2.0
#include "matmul/pack_first.hpp"

#include "common/error.hpp"
#include "matmul/packing.hpp"
#include "matmul/plan_xe.hpp"

namespace zemm::matmul {

namespace {

// Tiles of full height of a CPU, from which on it is worth it.
constexpr zemm_dim_t tiles_to_pack_for = 2;

using planner = bool (*)(const reorder::problem &p, const ze::device &dev, reorder::plan &result,
                         std::string &why);

// Throws if the packed layout does not exist.
std::shared_ptr<const packing> make_packing(const problem &p, const ze::device &dev, planner make_plan,
                                            std::string &why) {
    auto packed = std::make_shared<problem>(p);
    packed->wei = packed_weights(p.wei);
    auto result = std::make_shared<packing>();
    reorder::problem move;
    move.src = p.wei;
    move.dst = packed->wei;
    if (!make_plan(move, dev, result->move, why))
        return nullptr;
    result->problem = std::move(packed);
    return result;
}

} // namespace

bool gathers_weights(const problem &p, const kernel_row &row) {
    return row.work_items > 1 && md_is_plain(p.wei) && (loads_1d(row) || !reads_wei_2d(p));
}

bool gathers(const kernel_row &row) {
    return row.tile_m == row.rows;
}

std::shared_ptr<const packing> pack_for_cpu(const problem &p, const kernel_row &row, const ze::device &dev) {
    if (dev.kind == zemm_gpu || row.work_items > 1 || row.weights != weights_layout::packed ||
        !md_is_plain(p.wei) || p.empty() || p.batch() * p.m() < tiles_to_pack_for * row.tile_m ||
        !segments_are_quads(p) || !p.shares_weights())
        return nullptr;
    std::string why; // not needed: tiles arrange their weights themselves
    try {
        return make_packing(p, dev, reorder::plan_pack, why);
    } catch (const error &) {
        return nullptr;
    }
}

std::shared_ptr<const packing> pack_for_xe(const problem &p, const kernel_row &row, const ze::device &dev,
                                           std::string &why) {
    // One row of tiles reads each weight once: packing would read it, write it and read it again. A load of
    // columns that lie along K takes a line of memory for each lane, however.
    const zemm_dim_t rows = p.shares_weights() ? p.batch() * p.m() : p.m();
    const bool once = gathers(row) && rows <= row.tile_m && p.wei.strides[p.ndims() - 1] == 1;
    if (p.empty() || once || !gathers_weights(p, row)) {
        why = "it reads the weights as they are";
        return nullptr;
    }
    try {
        std::shared_ptr<const packing> result = make_packing(p, dev, reorder::plan_pack_lanes, why);
        if (!result || !loads_1d(row) || md_size(result->problem->wei) < UINT32_MAX)
            return result;
        why = "its weights would be packed first, and have more bytes than the 2^32 that it counts";
    } catch (const error &e) {
        why = e.what();
    }
    return nullptr;
}

} // namespace zemm::matmul
