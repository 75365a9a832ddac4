// SPDX-License-Identifier: Apache-2.0
// Floats of 16 bits on the host. Conversions of _Float16 need the libgcc of GCC 12 (docs/install.md).
#pragma once

#include <bit>
#include <cstdint>

namespace zemm {

constexpr float bf16_as_float(uint16_t bits) {
    return std::bit_cast<float>(uint32_t(bits) << 16);
}

// Multiplying by 2^112 moves the exponent, and makes denormals normal.
constexpr float f16_as_float(uint16_t half) {
    const uint32_t magnitude = uint32_t(half & 0x7fff) << 13;
    const uint32_t finite = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) * 0x1p112f);
    const uint32_t bits = magnitude >= 0x0f800000 ? magnitude | 0x7f800000 : finite;
    return std::bit_cast<float>(bits | uint32_t(half & 0x8000) << 16);
}

} // namespace zemm
