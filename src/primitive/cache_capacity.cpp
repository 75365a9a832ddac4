// SPDX-License-Identifier: Apache-2.0
// Reads and sets the capacity of the primitive cache.
#include "primitive/cache_capacity.hpp"

#include <atomic>
#include <charconv>

#include "common/env.hpp"
#include "common/error.hpp"

namespace zemm {

namespace {

constexpr int default_capacity = 1024;

// The capacity from ZEMM_PRIMITIVE_CACHE_CAPACITY; the default if it is not a number from 0 on.
int start_capacity() {
    const std::string value = env("ZEMM_PRIMITIVE_CACHE_CAPACITY");
    int capacity = 0;
    const char *const end = value.data() + value.size();
    const auto [rest, failure] = std::from_chars(value.data(), end, capacity);
    return failure == std::errc() && rest == end && capacity >= 0 ? capacity : default_capacity;
}

std::atomic<int> &current() {
    static std::atomic<int> value{start_capacity()};
    return value;
}

std::atomic<void (*)(int)> listener{nullptr};

} // namespace

int primitive_cache_capacity() {
    return current();
}

int replace_cache_capacity(int capacity) {
    if (capacity < 0)
        fail(zemm_invalid_arguments, "zemm_set_primitive_cache_capacity: capacity %d is negative", capacity);
    return current().exchange(capacity);
}

void set_primitive_cache_capacity(int capacity) {
    replace_cache_capacity(capacity);
    if (auto callback = listener.load())
        callback(capacity);
}

void on_cache_capacity_change(void (*callback)(int)) {
    listener = callback;
}

} // namespace zemm
