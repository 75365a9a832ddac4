// SPDX-License-Identifier: Apache-2.0
// One row of kernels.def, as the dispatch table has it.
#pragma once

#include <string>

#include "matmul/choose/family.hpp"
#include "ze/device.hpp"

namespace zemm::matmul {

struct facts;

// The type that a kernel multiplies. Its family says with which instruction.
enum class operands {
    int8, // 8-bit src with 8-bit or 4-bit weights
    // f16 or bf16 src with weights of the same type or integers. Some families also multiply f32
    // src: each value becomes a bf16 or the sum of two.
    half,
    tf32, // f32 src with f32 or integer weights
    f32,  // every operand is converted to f32
};

// Bytes of one element.
constexpr int operand_bytes(operands multiplies) {
    switch (multiplies) {
    case operands::int8:
        return 1;
    case operands::half:
        return 2;
    case operands::tf32:
    case operands::f32:
        break;
    }
    return 4;
}

// The layout that a kernel wants for weights with tag any.
enum class weights_layout {
    plain,
    packed, // packed_weights.hpp
};

struct kernel_row {
    const char *name;
    int tile_m, tile_n; // rows and columns of dst in a tile
    int tile_k;         // elements of K in a panel of weights
    int rows_at_once;   // rows that the policy multiplies at once
    int lanes;          // columns in a vector of the policy
    int group_x;        // tiles along N in a work-group
    int group_y;        // tiles along M in a work-group, at most
    // Of a narrow tile: columns of the wide tile that runs instead, unless it would compute a third
    // more columns. 0: there is no wide tile.
    int wide_n;
    int grf; // registers of a GPU thread; 0: the kernel does not choose
    isa_family family;
    operands multiplies;
    weights_layout weights;
    // Whether the kernel takes the problem on the device. If not, why says the reason.
    bool (*supports)(const facts &f, const ze::device &dev, std::string &why);

    constexpr family_traits traits() const { return traits_of(family); }
    constexpr bool is_xe() const { return traits().is_xe(); }
    // The feature that has the tiles of a row with AMX.
    constexpr ze::feature tiles() const { return *traits().isa; }
    // Whether a CPU row is for at most as many rows as a tile has.
    constexpr bool is_for_few_rows() const { return !is_xe() && lanes > 1 && tile_m == rows_at_once; }
    // Whether this is the smallest tile of its policy: only that has registers to spare for reading
    // operands element by element.
    constexpr bool can_gather() const { return tile_m == rows_at_once; }
};

} // namespace zemm::matmul
