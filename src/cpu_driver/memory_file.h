// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace ze_cpu {

/// Memory with a file descriptor (a memfd): it can be mapped more than once, and by other processes. Its size
/// is sealed, so no process can take pages away from another.
class MemoryFile {
public:
    /// Zeroed memory of `size` bytes, rounded up to pages. Throws ze_result_t.
    static std::shared_ptr<MemoryFile> create(size_t size);

    /// One that was created by this process or another, from a descriptor, which stays the caller's. Null if
    /// it is something else.
    static std::shared_ptr<MemoryFile> open(int descriptor);

    ~MemoryFile();
    MemoryFile(const MemoryFile &) = delete;
    MemoryFile &operator=(const MemoryFile &) = delete;

    int descriptor() const { return descriptor_; }
    size_t size() const { return size_; }

    /// Which of the machine's files this is, by any descriptor.
    struct Identity {
        uint64_t device = 0, inode = 0;
        bool operator==(const Identity &) const = default;
    };
    const Identity &identity() const { return identity_; }

    /// Maps a part, at `at` in place of what is there, or anywhere. Null if the system refuses.
    void *map(size_t offset, size_t size, int protection, void *at = nullptr) const;

private:
    explicit MemoryFile(int descriptor); // takes it
    int descriptor_;
    size_t size_ = 0;
    Identity identity_;
};

size_t page_size();
size_t round_to_pages(size_t size);

} // namespace ze_cpu
