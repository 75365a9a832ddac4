// SPDX-License-Identifier: Apache-2.0
//
// SPIR-V modules as words in this machine's byte order, and their instructions.
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
    uint32_t count; // of words, including the first
    const uint32_t *word;
};

/// The literal string that begins at this word of the instruction. Without a final zero it ends
/// with the instruction.
inline std::string_view text_at(const Instruction &i, uint32_t at) {
    const char *data = reinterpret_cast<const char *>(i.word + at);
    return {data, strnlen(data, (i.count - at) * 4)};
}

/// Copies a module into words of this machine's byte order. Refuses what is no SPIR-V at all.
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
