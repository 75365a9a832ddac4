// SPDX-License-Identifier: Apache-2.0
// The objects behind the handles of engines, streams and memories.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "common/memory_desc.hpp"
#include "ze/buffer.hpp"
#include "ze/device.hpp"
#include "ze/stream.hpp"

// Objects that are made on an engine share its ownership. It lives until they and the caller's
// handle are all destroyed, in any order. So another engine cannot get its address while one of
// them exists.
struct zemm_engine : std::enable_shared_from_this<zemm_engine> {
    explicit zemm_engine(std::shared_ptr<zemm::ze::device> dev);
    ~zemm_engine();

    // create() makes an engine that lives until destroy(), and longer if objects on it do.
    static zemm_engine_t create(std::shared_ptr<zemm::ze::device> dev);
    void destroy();

    const std::shared_ptr<zemm::ze::device> device;
    const zemm_engine_kind_t kind;

private:
    void forget_cached() const;
    std::shared_ptr<zemm_engine> handle_; // the engine itself; reset by destroy()
};

struct zemm_stream {
    std::shared_ptr<zemm_engine> engine;
    zemm::ze::stream stream;
};

struct zemm_memory {
    zemm::memory_desc md;
    std::shared_ptr<zemm_engine> engine; // nullptr for a host scalar
    // A buffer. Most memories have one; sparse encodings have several.
    struct part {
        void *handle = nullptr;
        // Set if the library allocated the buffer. Streams share it while they work on it.
        std::shared_ptr<zemm::ze::buffer> owned;
        // The host copy while the buffer is mapped, if the host cannot read the device's memory,
        // and the number of current mappings. Mutable, because mapping does not change the memory.
        // `mapping_lock` guards both.
        mutable std::unique_ptr<char[]> mapping;
        mutable int maps = 0;
    };
    std::vector<part> parts;
    // Several threads may map a memory at once.
    mutable std::mutex mapping_lock;
    // The value of a host scalar. Mutable, because a caller who maps a memory may write to it.
    alignas(8) mutable unsigned char scalar[8] = {};
};
