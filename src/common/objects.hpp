// SPDX-License-Identifier: Apache-2.0
// The runtime objects behind the handles of the C API.
#pragma once

#include <memory>
#include <vector>

#include "common/memory_desc.hpp"
#include "ze/buffer.hpp"
#include "ze/device.hpp"
#include "ze/stream.hpp"

struct zemm_engine {
    std::shared_ptr<zemm::ze::device> device;
    zemm_engine_kind_t kind;
};

struct zemm_stream {
    zemm_engine_t engine;
    zemm::ze::stream stream;
};

struct zemm_memory {
    zemm::memory_desc md;
    zemm_engine_t engine = nullptr; // NULL for a host scalar
    struct part {                   // one buffer of the memory: 1, or more for sparse encodings
        void *handle = nullptr;
        std::unique_ptr<zemm::ze::buffer> owned; // set when the library allocated it
        // Host copy while mapped (devices whose memory the host cannot read), and how often it is mapped:
        // mapping is no change of the memory.
        mutable std::unique_ptr<char[]> mapping;
        mutable int maps = 0;
    };
    std::vector<part> parts;
    alignas(8) unsigned char scalar[8] = {}; // the value of a host scalar
};
