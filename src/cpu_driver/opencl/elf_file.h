// SPDX-License-Identifier: Apache-2.0
//
// Reads a library's file: the names of the libraries that it needs, and of its symbols.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ze_cpu {

class ElfFile {
public:
    /// Reads the names. Empty, with the reason in errno, if the file cannot be read; ENOEXEC if it is
    /// no 64-bit library.
    static std::optional<ElfFile> open(const std::filesystem::path &path);

    /// The names of the libraries that it needs.
    std::vector<std::string> needed() const;

    /// All names, one after the other, each with a zero behind it.
    std::span<char> names() { return names_; }

    /// The bytes of the library that a process may write to.
    size_t written_bytes() const { return written_bytes_; }

    /// Writes the names into a file of the same contents. False, with the reason in errno, if that
    /// fails.
    bool write_names(int file) const;

private:
    bool read(int file);

    size_t written_bytes_ = 0;
    uint64_t offset_ = 0; // of the names in the file
    std::vector<char> names_;
    std::vector<uint64_t> needed_; // offsets in names_
};

} // namespace ze_cpu
