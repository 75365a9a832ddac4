// SPDX-License-Identifier: Apache-2.0
// A row of kernels.def.
#pragma once

#include <string>

#include "matmul/family.hpp"
#include "ze/device.hpp"

namespace zemm::matmul {

struct facts;

// The type that a kernel multiplies; how is its family's.
enum class operands {
    int8, // bytes of src with bytes or 4-bit integers
    half, // f16 with f16, bf16 with bf16, or either with integers; f32 likewise, as bf16 or sums of two
    tf32, // f32 with f32 or integers
    f32,  // everything as f32
};

// Bytes of one of them.
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

// The layout of weights that a kernel asks for when the caller leaves it open.
enum class weights_layout {
    plain,
    packed, // packed_weights.hpp
};

struct kernel_row {
    const char *name;
    int tile_m, tile_n; // rows and columns of dst of one tile
    int tile_k;         // elements of K in a panel of weights
    int rows_at_once;   // that the policy multiplies
    int lanes;          // columns in one of its vectors
    int group_x;        // tiles of a group along the columns
    int group_y;        // tiles of a group along the rows, at most
    int wide_n;         // columns of the tile that is better unless it computes a third too much; 0: none
    int grf;            // registers of a GPU's thread; 0: no choice
    isa_family family;
    operands multiplies;
    weights_layout weights; // for tag any
    // True if the kernel takes the problem on the device; else says why not.
    bool (*supports)(const facts &f, const ze::device &dev, std::string &why);

    constexpr family_traits traits() const { return traits_of(family); }
    constexpr bool is_xe() const { return traits().is_xe(); }
    // Whether it is the smallest tile of its policy, which has registers to read element by element.
    constexpr bool can_gather() const { return tile_m == rows_at_once; }
};

} // namespace zemm::matmul
