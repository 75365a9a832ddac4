// SPDX-License-Identifier: Apache-2.0
//
// Reference counting for OpenCL events.
#pragma once

#include <utility>

#include "runtime.h"

namespace ze_cpu {

/// Owns one reference to an OpenCL event.
class OpenClEvent {
public:
    OpenClEvent() = default;
    explicit OpenClEvent(cl::Event owned) : handle_(owned) {}
    OpenClEvent(const OpenClEvent &other) : handle_(other.handle_) {
        if (handle_)
            opencl().clRetainEvent(handle_);
    }
    OpenClEvent(OpenClEvent &&other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    OpenClEvent &operator=(OpenClEvent other) noexcept {
        std::swap(handle_, other.handle_);
        return *this;
    }
    ~OpenClEvent() {
        if (handle_)
            opencl().clReleaseEvent(handle_);
    }
    explicit operator bool() const { return handle_ != nullptr; }
    cl::Event get() const { return handle_; }

private:
    cl::Event handle_ = nullptr;
};

} // namespace ze_cpu
