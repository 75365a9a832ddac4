// SPDX-License-Identifier: Apache-2.0
//
// The dynamic section of a library's file: which libraries it needs, and by which names.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace ze_cpu {

/// A library's file in memory. Changes stay in memory, or reach the file if it was opened for that.
class ElfFile {
public:
    enum class Access { read, change };

    /// Empty, with the reason in errno, if the file cannot be read or is no 64-bit library.
    static std::optional<ElfFile> open(const std::filesystem::path &path, Access access = Access::read);
    ElfFile(ElfFile &&other) noexcept;
    ElfFile(const ElfFile &) = delete;
    ElfFile &operator=(const ElfFile &) = delete;
    ~ElfFile();

    /// The names of the libraries that it needs.
    std::vector<std::string_view> needed() const;
    /// The names of its symbols and of libraries, one after the other, each with a zero behind it.
    std::span<char> strings() const { return strings_; }

private:
    ElfFile(uint8_t *bytes, size_t size) : bytes_(bytes), size_(size) {}
    bool read_dynamic_section();
    template <class T> const T *at(uint64_t offset, uint64_t count = 1) const;

    uint8_t *bytes_;
    size_t size_;
    std::span<char> strings_{};
    std::vector<uint64_t> needed_{}; // offsets in strings_
};

} // namespace ze_cpu
