// SPDX-License-Identifier: Apache-2.0
// One row of kernels.def, as the dispatch table has it, and the families of kernels: which instructions they
// use, who owns a tile and how they load operands. isa.def lists them, each row names its family.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "ze/device.hpp"
#include "ze/features.hpp"

namespace zemm::matmul {

struct facts;

enum class isa_family {
#define ZEMM_FAMILY(name, isa, ...) name,
#include "lists/isa.def"
};

enum class multiplier {
    vectors, // vector instructions of one work-item: dot products of bytes, multiply-adds
    tiles,   // AMX
    dpas,
    dp4a,
    fma,
};

// How a sub-group loads blocks of src, and of plain weights.
enum class block_loads { none, one_dimension, two_dimensions };

struct family_traits {
    std::optional<ze::feature> isa = {}; // what its instructions need
    int sub_group = 0;                   // work-items that own a tile together; 0: each owns a tile
    int register_bytes = 0;              // size of a GPU register
    multiplier multiplies_by = multiplier::vectors;
    block_loads loads = block_loads::none;
    int step_bytes = 0;   // bytes along K of each operand that are multiplied at once
    int widened_step = 0; // elements of K that are converted at once from integer weights to floats
    // Zero-point terms are computed in f32 where that is exact; else in 16-bit integers where they
    // fit.
    bool zero_points_as_f32 = false;
    // Can multiply a few rows by plain weights that lie along K, without making a panel.
    bool multiplies_along_k = false;
    // Multiplies several segments in a row, each in vectors (owner/work_item/segments.h).
    bool keeps_segments = false;
    // Vectors of bytes become 16 bits before they are multiplied, and keep their signedness, unless src has
    // 7 bits.
    bool widens_bytes = false;
    bool quantizes_rows = false; // policy/cpu/quantized_row.h
    bool half_is_f16 = false;    // operands::half: f16, else bf16
    bool looks_up = false;       // policy/cpu/small_words.h may use AVX512_VBMI, where the device has it
    bool has_few_rows = false;   // owner/work_item/few_rows.h

    // For Intel GPUs: a sub-group owns a tile.
    constexpr bool is_xe() const { return sub_group != 0; }
    constexpr bool has_tiles() const { return multiplies_by == multiplier::tiles; }
    constexpr bool has_small_registers() const { return register_bytes == 32; }
};

// The features by their names in isa.def.
namespace isa_named {
constexpr std::optional<ze::feature> none;
#define ZEMM_ISA(name, needs) constexpr std::optional<ze::feature> name = ze::feature::name;
#include "lists/isa.def"
} // namespace isa_named

constexpr family_traits traits_of(isa_family family) {
    using enum multiplier;
    using enum block_loads;
    switch (family) {
#define ZEMM_FAMILY(name, isa_, unit, ...)                                                                   \
    case isa_family::name:                                                                                   \
        return {.isa = isa_named::isa_, __VA_ARGS__};
#include "lists/isa.def"
    }
    return {};
}

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

// nullptr if kernels.def has no matmul of that name.
const kernel_row *find_row(std::string_view name);

} // namespace zemm::matmul
