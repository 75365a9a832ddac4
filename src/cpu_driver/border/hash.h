// SPDX-License-Identifier: Apache-2.0
//
// A hash of a text that is the same in every process.
#pragma once

#include <cstdint>
#include <string_view>

namespace ze_cpu {

/// FNV-1a.
inline uint64_t hash_of(std::string_view text) {
    uint64_t sum = 0xcbf29ce484222325ull;
    for (const char c : text)
        sum = (sum ^ uint8_t(c)) * 0x100000001b3ull;
    return sum;
}

} // namespace ze_cpu
