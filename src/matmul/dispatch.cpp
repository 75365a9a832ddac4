// SPDX-License-Identifier: Apache-2.0
#include "matmul/dispatch.hpp"

#include <algorithm>
#include <map>

#include "common/env.hpp"
#include "common/error.hpp"
#include "common/verbose.hpp"
#include "matmul/cost.hpp"
#include "matmul/packing.hpp"
#include "matmul/plan.hpp"
#include "matmul/plan_xe.hpp"
#include "zemm/zemm.h"

namespace zemm::matmul {

namespace {

// ---- predicates, named in kernels.def

bool has(const ze::device &dev, ze::feature feature, std::string &why) {
    if (dev.features.has(feature))
        return true;
    why = text("the device does not report %s", ze::feature_name(feature));
    return false;
}

bool reads_weights(const problem &p, std::string &why) {
    if (!is_packed(p.wei) || segments_are_quads(p))
        return true;
    why = text(
        "packed weights need groups of K that are multiples of 4, the greatest common divisor here is %lld",
        (long long)k_segment(p));
    return false;
}

template <ze::feature feature> bool float_on(const problem &p, const ze::device &dev, std::string &why) {
    return has(dev, feature, why) && reads_weights(p, why);
}

template <ze::feature feature> bool int8_on(const problem &p, const ze::device &dev, std::string &why) {
    if (!has(dev, feature, why))
        return false;
    if (!p.integer()) {
        why = text("it multiplies 8-bit integers, src is %s", zemm_dt2str(p.src.data_type));
        return false;
    }
    if (p.src.strides[p.ndims() - 1] != 1 && !p.empty()) {
        why = text("it reads four neighbours of src along K, whose stride is %lld",
                   (long long)p.src.strides[p.ndims() - 1]);
        return false;
    }
    if (!segments_are_quads(p)) {
        why = text("it needs groups of K that are multiples of 4, the greatest common divisor here is %lld",
                   (long long)k_segment(p));
        return false;
    }
    return true;
}

// What all rows with DPAS have in common; unit: elements of K that one takes.
bool has_dpas(const problem &p, const ze::device &dev, ze::feature loads, zemm_dim_t unit, std::string &why) {
    if (!has(dev, ze::feature::xmx, why) || !has(dev, loads, why))
        return false;
    constexpr zemm_dim_t limit = 1 << 30; // 2-D block loads and loops over K count in 32 bits
    if (p.k() > limit || p.n() > limit || p.batch() * p.m() > limit) {
        why = "it counts rows, columns and K up to 2^30";
        return false;
    }
    if (p.empty() || k_segment(p) % unit == 0 || k_segment(p) == p.k())
        return true;
    why = text("it needs groups of K that are multiples of %lld, the greatest common divisor here is %lld",
               (long long)unit, (long long)k_segment(p));
    return false;
}

template <ze::feature loads> bool dpas_int8_on(const problem &p, const ze::device &dev, std::string &why) {
    if (p.integer())
        return has_dpas(p, dev, loads, 32, why);
    why = text("it multiplies 8-bit integers, src is %s", zemm_dt2str(p.src.data_type));
    return false;
}

template <ze::feature loads> bool dpas_half_on(const problem &p, const ze::device &dev, std::string &why) {
    const zemm_data_type_t src = p.src.data_type, wei = p.wei.data_type;
    if ((src != zemm_f16 && src != zemm_bf16) || (src != wei && !p.weight_only())) {
        why = text("it multiplies f16 by f16 or integers, bf16 by bf16 or integers, not %s by %s",
                   zemm_dt2str(src), zemm_dt2str(wei));
        return false;
    }
    const quant_entry *zp = p.zero_point(ZEMM_ARG_WEIGHTS);
    if (p.weight_only() && zp && (zp->is_on_host || !(is_int8(zp->data_type) || is_int4(zp->data_type)))) {
        why = text(
            "weights less their zero points are %s in it, for which zero points have to be 8-bit or 4-bit "
            "tensors",
            zemm_dt2str(src));
        return false;
    }
    return has_dpas(p, dev, loads, p.weight_only() ? 32 : 16, why);
}

template <ze::feature loads> bool dpas_widened_on(const problem &p, const ze::device &dev, std::string &why) {
    if (p.weight_only())
        return dpas_half_on<loads>(p, dev, why);
    why = "its tile is for floats with integer weights";
    return false;
}

bool on_any(const problem &p, const ze::device &, std::string &why) {
    if (!is_packed(p.wei))
        return true;
    why = text("it reads plain weights, not the layout %s", tag_text(p.wei).c_str());
    return false;
}

bool on_cpu(const problem &p, const ze::device &dev, std::string &why) {
    if (dev.kind == zemm_cpu)
        return on_any(p, dev, why);
    why = "its tile is made for the caches of a CPU";
    return false;
}

// ---- the list

using enum operands;
using enum ze::feature;

const kernel_row rows[] = {
#define ZEMM_MATMUL(src, wei, dst, tile_m, tile_n, tile_k, policy, rows_at_once, lanes, group_x, wide_n,     \
                    operands, weights, supports)                                                             \
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
     operands,                                                                                               \
     weights_layout::weights,                                                                                \
     supports},
#define ZEMM_XE_MATMUL(src, wei, dst, tile_m, tile_n, tile_k, policy, lanes, group_x, group_y, grf,          \
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
     operands,                                                                                               \
     weights_layout::packed,                                                                                 \
     supports},
#define ZEMM_HELPER(name)
#include "kernels/kernels.def"
#undef ZEMM_XE_MATMUL
#undef ZEMM_MATMUL
#undef ZEMM_HELPER
};

// The problem with the weights' layout that the row wants where the caller left it open.
problem resolve_weights(const problem &p, const kernel_row &row) {
    problem result = p;
    if (p.wei.format_kind != zemm_format_kind_any)
        return result;
    if (row.work_items == 16 &&
        is_int8(p.wei.data_type)) { // 2-D block loads transform bytes as they read them
        md_resolve_any(result.wei);
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

// Whether a GPU's registers hold what a tile needs: its sums, where segments are scaled another set of them
// for eight rows, a block's weights and eight rows of src.
bool has_registers(const problem &p, const kernel_row &row, std::string &why) {
    if (row.work_items == 1)
        return true;
    const bool scaled = scales_along_k(p), small = row.lanes == 8; // registers of 32 bytes
    // Addresses, parameters of rows and columns, what is under way.
    const int others = scaled && (p.integer() || !small) ? 64 : small ? 48 : 56;
    const int bytes = p.src.data_type == zemm_s8 || p.src.data_type == zemm_u8 ? 1 : 2;
    const int sums = (row.tile_m + (scaled ? 8 : 0)) * row.tile_n / row.lanes;
    const bool nibbles = small && p.integer() && is_int4(p.wei.data_type);
    const int operands = (row.tile_n * bytes / (nibbles ? 2 : 1) + 8 * bytes) * row.tile_k / (4 * row.lanes);
    if (sums + operands + others <= row.grf)
        return true;
    why = text("sums that are scaled along K do not fit into its registers");
    return false;
}

// Whether a sub-group has as many lanes as the device's DPAS; the CPU device has both kinds.
bool has_lanes(const kernel_row &row, const ze::device &dev, std::string &why) {
    if (row.work_items == 1 || dev.kind == zemm_cpu || dev.model.sub_group == 0 ||
        int(dev.model.sub_group) == row.lanes)
        return true;
    why = text("it is for sub-groups of %d, the device has those of %u", row.lanes, dev.model.sub_group);
    return false;
}

// Reading element by element is for the smallest tile: others have no registers for that.
bool reads_blocks(const problem &p, const kernel_row &row, std::string &why) {
    if (row.work_items == 1 || row.tile_m == row.rows || p.empty())
        return true;
    if (row.lanes == 8) {
        if (reads_src_1d(p) && is_packed(p.wei))
            return true;
        why = reads_src_1d(p)
                  ? "it wants packed weights, such as tag any gives"
                  : "block loads cannot read src: they want stride 1 along K, and rows that begin and end at "
                    "multiples of 4 bytes";
        return false;
    }
    if (reads_src_2d(p) && reads_wei_2d(p))
        return true;
    why = text(
        "2-D block loads cannot read %s: they want stride 1 in rows or columns, rows of at least 64 bytes "
        "in fours, and 16 bytes times a whole number from row to row",
        reads_src_2d(p) ? "the weights" : "src");
    return false;
}

// A narrow tile leaves to the wide one after it what fills enough of that one, unless each of its columns is
// a stream of its own in memory.
bool suits(const problem &p, const kernel_row &row, std::string &why) {
    const auto padded = [&](zemm_dim_t unit) { return (p.n() + unit - 1) / unit * unit; };
    if (row.wide_n == 0 || multiplies_along_k(p, row) || 4 * padded(row.tile_n) <= 3 * padded(row.wide_n))
        return true;
    why = text("a tile of %d columns is better", row.wide_n);
    return false;
}

// Of rows that differ in their tile the cheapest first.
void sort_tiles(const problem &p, const ze::device &dev, std::vector<candidate> &found) {
    if (p.empty())
        return;
    const auto is_tile = [](const candidate &c) { return c.row->work_items > 1; };
    const auto end = std::partition_point(found.begin(), found.end(), is_tile);
    std::map<const kernel_row *, cost> costs;
    for (auto c = found.begin(); c != end; ++c) {
        const cost estimated = costs[c->row] = estimate(*c->problem, *c->row, dev);
        if (verbose::enabled(verbose::dispatch))
            verbose::print(text("primitive,create:cost,matmul,%s,%s,%s", c->row->name,
                                estimated.text().c_str(), dims_line(p).c_str()));
    }
    std::stable_sort(found.begin(), end, [&](const candidate &a, const candidate &b) {
        return costs[a.row].clocks < costs[b.row].clocks;
    });
}

} // namespace

std::vector<candidate> candidates(const problem &p, const ze::device &dev) {
    const std::string forced = env("ZEMM_KERNEL");
    std::vector<candidate> result;
    std::string reasons;
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
                if (has_lanes(row, dev, why) && row.supports(*resolved, dev, why) &&
                    has_registers(*resolved, row, why) && reads_blocks(*resolved, row, why) &&
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
        reasons += text("; %s: %s", row.name, why.c_str());
    }
    sort_tiles(p, dev, result);
    if (result.empty())
        fail(zemm_unimplemented, "no kernel takes the matmul %s%s", dims_line(p).c_str(), reasons.c_str());
    return result;
}

} // namespace zemm::matmul
