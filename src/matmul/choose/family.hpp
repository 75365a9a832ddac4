// SPDX-License-Identifier: Apache-2.0
// The families of kernels: which instructions they use, who owns a tile and how they load operands.
// Each row of kernels.def names its family.
#pragma once

namespace zemm::matmul {

enum class isa_family {
    any, // plain OpenCL C, for any device
    cpu, // plain OpenCL C, with a tile for the caches of a CPU
    avx2,
    avx2_int8,
    avx2_vnni,
    avx512,
    avx512_widen,
    avx512_vnni,
    avx512_bf16,
    amx,
    amx_fp16,
    xe_hpc,   // XMX, sub-groups of 16, 2-D block loads: Xe-HPC, Xe2 and later
    xe_hpg,   // XMX, sub-groups of 8: Xe-HPG
    xe_dp4a,  // no XMX: Xe-LP, Xe-LPG
    xe_fma16, // f32 multiply-adds, sub-groups of 16
    xe_fma8,  // f32 multiply-adds, sub-groups of 8
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
    int sub_group = 0;      // work-items that own a tile together; 0: each owns a tile
    int register_bytes = 0; // size of a GPU register
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

    // For Intel GPUs: a sub-group owns a tile.
    constexpr bool is_xe() const { return sub_group != 0; }
    constexpr bool has_tiles() const { return multiplies_by == multiplier::tiles; }
    constexpr bool has_small_registers() const { return register_bytes == 32; }
};

constexpr family_traits traits_of(isa_family family) {
    using enum multiplier;
    using enum block_loads;
    switch (family) {
    case isa_family::any:
    case isa_family::cpu:
    case isa_family::avx2:
    case isa_family::avx512_widen:
    case isa_family::avx512_bf16:
        return {};
    case isa_family::avx2_int8:
        return {.zero_points_as_f32 = true, .widens_bytes = true};
    case isa_family::avx2_vnni:
        return {.zero_points_as_f32 = true};
    case isa_family::avx512:
        return {.multiplies_along_k = true};
    case isa_family::avx512_vnni:
        return {.zero_points_as_f32 = true, .multiplies_along_k = true};
    case isa_family::amx:
    case isa_family::amx_fp16:
        return {.multiplies_by = tiles, .zero_points_as_f32 = true};
    // sub-group, register bytes, multiplies by, loads, step bytes, widened step, zero points as f32
    case isa_family::xe_hpc:
        return {16, 64, dpas, two_dimensions, 32, 32, true};
    case isa_family::xe_hpg:
        return {8, 32, dpas, one_dimension, 32, 32, false};
    case isa_family::xe_dp4a:
        return {8, 32, dp4a, one_dimension, 32, 32, false};
    case isa_family::xe_fma16:
        return {16, 64, fma, one_dimension, 64, 16, false};
    case isa_family::xe_fma8:
        return {8, 32, fma, one_dimension, 64, 16, false};
    }
    return {};
}

} // namespace zemm::matmul
