// SPDX-License-Identifier: Apache-2.0
//
// Memory with a file descriptor: it can be shared, and mapped in several places.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace ze_cpu {

/// A memfd. It can be mapped more than once, and by other processes. Its size is sealed, so no
/// process can take pages away from another.
class MemoryFile {
public:
    /// Zeroed memory of `size` bytes, rounded up to pages. Throws ze_result_t.
    static std::shared_ptr<MemoryFile> create(size_t size);

    /// Opens the memory that this process or another has created, from a file descriptor, which
    /// stays the caller's. Null if the descriptor is of anything else, or not for reading and writing.
    static std::shared_ptr<MemoryFile> open(int descriptor);

    ~MemoryFile();
    MemoryFile(const MemoryFile &) = delete;
    MemoryFile &operator=(const MemoryFile &) = delete;

    int descriptor() const { return descriptor_; }
    size_t size() const { return size_; }

    /// Identifies the file on this machine, whatever descriptor it was opened by.
    struct Identity {
        uint64_t device = 0, inode = 0;
        bool operator==(const Identity &) const = default;
    };
    const Identity &identity() const { return identity_; }

    /// Maps a part of the file: at `at`, replacing what is mapped there, or anywhere if `at` is
    /// null. Returns null if the system refuses.
    void *map(size_t offset, size_t size, int protection, void *at = nullptr) const;

private:
    explicit MemoryFile(int descriptor); // takes ownership
    int descriptor_;
    size_t size_ = 0;
    Identity identity_;
};

size_t page_size();
size_t round_to_pages(size_t size);

} // namespace ze_cpu
