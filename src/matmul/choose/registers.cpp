// SPDX-License-Identifier: Apache-2.0
#include "matmul/choose/registers.hpp"

namespace zemm::matmul {

namespace {

constexpr int rows_of_src = 8; // rows that are multiplied at once

// Registers that hold neither sums nor operands: addresses, scales and zero points, temporaries.
constexpr int others_without_xmx = 32; // dp4a and fma rows, whose loops keep few values at a time
constexpr int others_small = 48;       // with registers of 32 bytes
constexpr int others_large = 56;       // with registers of 64 bytes
constexpr int others_scaled = 64;      // integers with scales along K
constexpr int others_zero_points = 72; // zero points of both src and weights

constexpr int unpacked_nibbles = 16; // a step of 4-bit weights as bytes, if registers have 32 bytes
constexpr int rounded_f32 = 8;       // f32 weights that are being converted to bf16

int others_of(const facts &f) {
    const problem &p = f.run();
    const bool is_small = f.family.has_small_registers();
    if (f.family.multiplies_by != multiplier::dpas)
        return others_without_xmx;
    if (f.scales_along_k && p.integer())
        return others_scaled;
    if (is_small && !f.scales_along_k && p.zero_point(ZEMM_ARG_SRC) && p.zero_point(ZEMM_ARG_WEIGHTS))
        return others_zero_points;
    return is_small ? others_small : others_large;
}

// The sums of the tile. If segments are scaled, also the sums that are not scaled yet.
int sums_of(const facts &f) {
    const kernel_row &row = *f.row;
    const int unscaled = f.family.multiplies_by == multiplier::dpas ? rows_of_src : row.tile_n;
    return row.tile_m * row.tile_n / row.lanes + (f.scales_along_k ? unscaled : 0);
}

// A panel of weights, and the rows of src that are multiplied with it. wei_bits, src_bits: of one
// element in registers.
int operands_of(const facts &f, int panel_k, int wei_bits, int src_bits) {
    return (f.row->tile_n * wei_bits + rows_of_src * src_bits) * panel_k / (8 * f.family.register_bytes);
}

} // namespace

int registers_of(const facts &f) {
    const problem &p = f.run();
    const bool has_dpas = f.family.multiplies_by == multiplier::dpas;
    const bool keeps_nibbles = f.family.has_small_registers() && has_dpas && p.integer() &&
                               data_type_bits(p.wei.data_type) == 4; // 2-bit weights are loaded as bytes
    // src that is split into two bf16 takes twice the registers. So do f32 weights, but their panel
    // has half the length.
    const int bits = 8 * operand_bytes(f.row->multiplies), src_parts = f.products == 2 ? 2 : 1;
    const int panel = p.integer() && !f.scales_along_k && !f.empty ? f.panel_k : f.row->tile_k;
    int others = others_of(f);
    if (keeps_nibbles)
        others += unpacked_nibbles;
    if (f.narrows_f32 && !p.weight_only())
        others += rounded_f32;
    return sums_of(f) + operands_of(f, panel, keeps_nibbles ? bits / 2 : bits, src_parts * bits) + others;
}

bool has_zero_points_beside(const facts &f) {
    const problem &p = f.run();
    if (!f.family.has_small_registers() || !p.integer() || f.scales_along_k ||
        !(p.zero_point(ZEMM_ARG_SRC) || p.zero_point(ZEMM_ARG_WEIGHTS)))
        return false;
    return sums_of(f) + operands_of(f, f.row->tile_k, 8, 8) + others_zero_points > f.row->grf;
}

} // namespace zemm::matmul
