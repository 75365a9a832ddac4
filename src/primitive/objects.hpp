// SPDX-License-Identifier: Apache-2.0
// The runtime objects behind the handles of the C API.
#pragma once

#include <memory>
#include <vector>

#include "common/memory_desc.hpp"
#include "ze/buffer.hpp"
#include "ze/device.hpp"
#include "ze/stream.hpp"

// Whatever is made on an engine shares it: it lasts until the last of them and the caller's handle are gone,
// in any order. So no other engine can be at its address while something of it is left.
struct zemm_engine : std::enable_shared_from_this<zemm_engine> {
    explicit zemm_engine(std::shared_ptr<zemm::ze::device> dev);
    ~zemm_engine();

    // The caller's handle, and its end.
    static zemm_engine_t create(std::shared_ptr<zemm::ze::device> dev);
    void destroy();

    const std::shared_ptr<zemm::ze::device> device;
    const zemm_engine_kind_t kind;

private:
    void forget_cached() const;
    std::shared_ptr<zemm_engine> handle_; // itself, until destroy()
};

struct zemm_stream {
    std::shared_ptr<zemm_engine> engine;
    zemm::ze::stream stream;
};

struct zemm_memory {
    zemm::memory_desc md;
    std::shared_ptr<zemm_engine> engine; // nullptr for a host scalar
    struct part {                        // one buffer of the memory: 1, or more for sparse encodings
        void *handle = nullptr;
        // Set when the library allocated it; streams share it while they work on it.
        std::shared_ptr<zemm::ze::buffer> owned;
        // Host copy while mapped (devices whose memory the host cannot read), and how often it is mapped:
        // mapping is no change of the memory.
        mutable std::unique_ptr<char[]> mapping;
        mutable int maps = 0;
    };
    std::vector<part> parts;
    alignas(8) unsigned char scalar[8] = {}; // the value of a host scalar
};
