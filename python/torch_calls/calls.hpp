// SPDX-License-Identifier: Apache-2.0
// The calls of layers that Python has prepared, for each thread. A call belongs to the thread that made it,
// as its memories do.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "shim.hpp"

namespace zemm_torch {

constexpr int num_parts = 7; // of a layer, at most: zemm.torch._parts. The last ones may be missing.

struct bytes_t {
    const void *begin;
    int64_t size;
    bool operator==(const bytes_t &) const = default;
};

// The parts of a layer without the description, which is compared by its text.
using parts_t = std::array<bytes_t, num_parts>;

struct call_t {
    uint64_t layer; // a number that no other layer of the process has
    std::string description;
    parts_t parts;
    int64_t in_features, out_features, rows;
    int32_t src_dtype, dst_dtype;
    // chain_run() of calls.c, and its arguments
    int (*run)(int count, const void *calls, void *stream, void *const *tensors);
    const void *calls; // one
    void *stream, *scratch;
};

// Which call: of a layer by its number, or by its parts if that is 0. Attention has a number and a type
// alone.
struct request_t {
    uint64_t layer;
    parts_t parts;
    int64_t in_features, out_features, rows;
    int32_t src_dtype, dst_dtype;
};

// Makes a call known to this thread until it is removed, by any thread. Python's lock is held.
struct known_t;
known_t *add(call_t call);

// Waits until the call does not run, which needs no lock of Python.
void remove(known_t *);

enum class outcome { done, unknown, failed };

// Runs this thread's call. tensors: src and dst of a layer; q, y, k, v and mask of attention.
outcome run(const request_t &, std::array<void *, 5> tensors);

} // namespace zemm_torch
