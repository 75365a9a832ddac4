// SPDX-License-Identifier: Apache-2.0
// The families of kernels: which instructions they use, who owns a tile and how they load operands.
// isa.def lists them, each row of kernels.def names its family.
#pragma once

#include <optional>

#include "ze/features.hpp"

namespace zemm::matmul {

enum class isa_family {
#define ZEMM_FAMILY(name, isa, ...) name,
#include "isa/isa.def"
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
    // Vectors of bytes become 16 bits before they are multiplied, and keep their signedness.
    bool widens_bytes = false;
    bool half_is_f16 = false; // operands::half: f16, else bf16
    bool looks_up = false;    // policy/small_words.h may use AVX512_VBMI, where the device has it

    // For Intel GPUs: a sub-group owns a tile.
    constexpr bool is_xe() const { return sub_group != 0; }
    constexpr bool has_tiles() const { return multiplies_by == multiplier::tiles; }
    constexpr bool has_small_registers() const { return register_bytes == 32; }
};

// The features by their names in isa.def.
namespace isa_named {
constexpr std::optional<ze::feature> none;
#define ZEMM_ISA(name, needs) constexpr std::optional<ze::feature> name = ze::feature::name;
#include "isa/isa.def"
} // namespace isa_named

constexpr family_traits traits_of(isa_family family) {
    using enum multiplier;
    using enum block_loads;
    switch (family) {
#define ZEMM_FAMILY(name, isa_, ...)                                                                         \
    case isa_family::name:                                                                                   \
        return {.isa = isa_named::isa_, __VA_ARGS__};
#include "isa/isa.def"
    }
    return {};
}

} // namespace zemm::matmul
