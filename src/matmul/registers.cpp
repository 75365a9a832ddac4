// SPDX-License-Identifier: Apache-2.0
#include "matmul/registers.hpp"

namespace zemm::matmul {

namespace {

constexpr int rows_of_src = 8; // that are multiplied at once

// Registers for what is neither a sum nor an operand: addresses, parameters of rows and columns, what is
// under way.
constexpr int others_without_xmx = 32; // dp4a and fma rows, whose loops have little at once
constexpr int others_small = 48;       // registers of 32 bytes
constexpr int others_large = 56;
constexpr int others_scaled = 64; // integers with scales along K
constexpr int others_zero_points = 72;

constexpr int unpacked_nibbles = 16; // a step of 4-bit weights as bytes, in registers of 32 bytes
constexpr int rounded_f32 = 8;       // f32 weights on their way to bf16

bool narrows_f32(const facts &f) {
    return f.row->multiplies == operands::half && f.problem().src.data_type == zemm_f32;
}

int others_of(const facts &f) {
    const problem &p = f.problem();
    const bool is_small = f.family.has_small_registers();
    if (f.family.multiplies_by != multiplier::dpas)
        return others_without_xmx;
    if (f.scales_along_k && p.integer())
        return others_scaled;
    if (is_small && !f.scales_along_k && p.zero_point(ZEMM_ARG_SRC) && p.zero_point(ZEMM_ARG_WEIGHTS))
        return others_zero_points;
    return is_small ? others_small : others_large;
}

// Of the tile; where segments are scaled also those that are not yet.
int sums_of(const facts &f) {
    const kernel_row &row = *f.row;
    const int unscaled = f.family.multiplies_by == multiplier::dpas ? rows_of_src : row.tile_n;
    return row.tile_m * row.tile_n / row.lanes + (f.scales_along_k ? unscaled : 0);
}

// A panel of weights of wei_bits and the rows of src that are multiplied with it, of src_bits.
int operands_of(const facts &f, int panel_k, int wei_bits, int src_bits) {
    return (f.row->tile_n * wei_bits + rows_of_src * src_bits) * panel_k / (8 * f.family.register_bytes);
}

} // namespace

int registers_of(const facts &f) {
    const problem &p = f.problem();
    const bool has_dpas = f.family.multiplies_by == multiplier::dpas;
    const bool keeps_nibbles =
        f.family.has_small_registers() && has_dpas && p.integer() && is_int4(p.wei.data_type);
    // src as sums of two is twice the registers. So are f32 weights, but of half a panel.
    const int bits = 8 * operand_bytes(f.row->multiplies), src_parts = f.products == 2 ? 2 : 1;
    const int panel = p.integer() && !f.scales_along_k && !f.empty ? f.panel_k : f.row->tile_k;
    int others = others_of(f);
    if (keeps_nibbles)
        others += unpacked_nibbles;
    if (narrows_f32(f) && !p.weight_only())
        others += rounded_f32;
    return sums_of(f) + operands_of(f, panel, keeps_nibbles ? bits / 2 : bits, src_parts * bits) + others;
}

bool has_zero_points_beside(const facts &f) {
    const problem &p = f.problem();
    if (!f.family.has_small_registers() || !p.integer() || f.scales_along_k ||
        !(p.zero_point(ZEMM_ARG_SRC) || p.zero_point(ZEMM_ARG_WEIGHTS)))
        return false;
    return sums_of(f) + operands_of(f, f.row->tile_k, 8, 8) + others_zero_points > f.row->grf;
}

} // namespace zemm::matmul
