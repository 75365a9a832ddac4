// SPDX-License-Identifier: Apache-2.0
// Level Zero memory (USM, unified shared memory) that frees itself, and copies to and from it.
#pragma once

#include <cstddef>
#include <memory>

#include "ze/device.hpp"

namespace zemm::ze {

enum class usm { host, device };

class buffer {
public:
    // size: bytes; 0 makes a buffer without memory. data() is aligned to 64 bytes. Throws
    // out_of_memory.
    buffer(std::shared_ptr<device> dev, size_t size, usm kind);
    ~buffer();
    buffer(const buffer &) = delete;
    buffer &operator=(const buffer &) = delete;
    void *data() const { return data_; }
    size_t size() const { return size_; }

private:
    std::shared_ptr<device> device_;
    void *data_ = nullptr;
    size_t size_ = 0;
};

// Bytes from pointer to the end of its USM allocation; 0 if it is not USM of the device's context.
size_t usm_bytes_from(const device &dev, const void *pointer);
// Whether the host may read and write at a pointer that kernels on the device can use.
bool host_reads(const device &dev, const void *pointer);
// Copies size bytes from USM or host memory to USM or host memory, and returns when that is done.
void copy_now(device &dev, void *to, const void *from, size_t size);
// A new buffer that kernels can read, with a copy of size bytes of host memory.
std::unique_ptr<buffer> copy_for_kernels(const std::shared_ptr<device> &dev, const void *data, size_t size);

} // namespace zemm::ze
