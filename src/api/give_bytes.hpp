// SPDX-License-Identifier: Apache-2.0
// Blobs and texts as results of entry points.
#pragma once

#include <cstring>
#include <span>
#include <string>

#include "common/error.hpp"

namespace zemm {

// Writes the bytes to the buffer, and their number to *size. *size is the room in the buffer before
// the call; if buffer is NULL, only *size is written. name: the parameter's name in the public
// header. Throws invalid_arguments if there is too little room.
inline void give_bytes(std::span<const uint8_t> bytes, size_t *size, uint8_t *buffer, const char *name) {
    if (buffer && *size < bytes.size())
        fail(zemm_invalid_arguments, "size is %zu, but %s needs %zu bytes", *size, name, bytes.size());
    *size = bytes.size();
    if (buffer && !bytes.empty())
        std::memcpy(buffer, bytes.data(), bytes.size());
}

// Gives the characters of a text, without a 0 at the end.
inline void give_text(const std::string &text, size_t *size, char *buffer, const char *name) {
    give_bytes({reinterpret_cast<const uint8_t *>(text.data()), text.size()}, size,
               reinterpret_cast<uint8_t *>(buffer), name);
}

} // namespace zemm
