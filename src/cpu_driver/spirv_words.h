// SPDX-License-Identifier: Apache-2.0
//
// A module as words of this machine's order, and the instructions in them.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include <spirv/unified1/spirv.hpp>

namespace ze_cpu::spirv {

inline constexpr size_t header_words = 5;

struct Instruction {
    uint16_t op;
    uint32_t count; // words, with the first
    const uint32_t *word;
};

/// The literal string from this word of the instruction on. If it has no final zero, it ends where the
/// instruction ends.
inline std::string_view text_at(const Instruction &i, uint32_t at) {
    const char *data = reinterpret_cast<const char *>(i.word + at);
    return {data, strnlen(data, (i.count - at) * 4)};
}

/// Copies the module into words of this machine's order; refuses what is no SPIR-V at all.
inline bool load_words(const uint8_t *data, size_t size, std::vector<uint32_t> &words, std::string &error) {
    if (!data || size < header_words * 4 || size % 4 != 0) {
        error = "invalid SPIR-V: " + std::to_string(size) + " bytes are no module";
        return false;
    }
    words.resize(size / 4);
    for (size_t i = 0; i < words.size(); i++)
        words[i] = uint32_t(data[4 * i]) | uint32_t(data[4 * i + 1]) << 8 | uint32_t(data[4 * i + 2]) << 16 |
                   uint32_t(data[4 * i + 3]) << 24;
    if (words[0] != spv::MagicNumber) {
        error = "invalid SPIR-V: wrong magic number";
        return false;
    }
    return true;
}

} // namespace ze_cpu::spirv
