// SPDX-License-Identifier: Apache-2.0
// The primitive cache: lists for the whole process, by keys, and their capacity.
#include "primitive/primitive_cache.hpp"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <climits>
#include <mutex>

#include "common/env.hpp"
#include "common/error.hpp"
#include "common/lru.hpp"
#include "common/md_ops.hpp"
#include "common/verbose.hpp"
#include "primitive/primitive_desc.hpp"

namespace zemm {

namespace {

constexpr int default_capacity = 1024;
constexpr int most_decisions = 256; // of 40 KB each

// The capacity from ZEMM_PRIMITIVE_CACHE_CAPACITY; the default if it is not a number from 0 on.
int start_capacity() {
    const std::string value = env("ZEMM_PRIMITIVE_CACHE_CAPACITY");
    int capacity = 0;
    const char *const end = value.data() + value.size();
    const auto [rest, failure] = std::from_chars(value.data(), end, capacity);
    if (failure == std::errc() && rest == end && capacity >= 0)
        return capacity;
    verbose::warn_of_variable("ZEMM_PRIMITIVE_CACHE_CAPACITY", "a number from 0 on");
    return default_capacity;
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

namespace {

class cache {
public:
    // most: the largest capacity, whatever the caller's is.
    explicit cache(int most) : most_(most) {}

    std::shared_ptr<const cached> find(const std::string &key) {
        if (primitive_cache_capacity() == 0) // it may have entries, see replace_cache_capacity()
            return nullptr;
        const std::lock_guard lock(mutex_);
        const auto *found = entries_.find(key);
        return found ? *found : nullptr;
    }

    // If another thread has added the key meanwhile, keeps and returns that thread's value.
    std::shared_ptr<const cached> insert(const std::string &key, std::shared_ptr<const cached> value) {
        const int capacity = primitive_cache_capacity();
        if (capacity == 0)
            return value;
        const std::lock_guard lock(mutex_);
        if (const auto *found = entries_.find(key))
            return *found;
        entries_.add(key, value);
        entries_.shrink(size_t(std::min(capacity, most_)));
        return value;
    }

    void forget(const ze::device &device) {
        lru<std::shared_ptr<const cached>>::entries dropped; // destroyed after the lock is released
        const std::lock_guard lock(mutex_);
        dropped = entries_.take_if([&](const auto &value) { return value->device.get() == &device; });
    }

    size_t count() {
        const std::lock_guard lock(mutex_);
        return entries_.size();
    }

    void set_capacity(int capacity) {
        const std::lock_guard lock(mutex_);
        entries_.shrink(size_t(std::min(capacity, most_)));
    }

private:
    const int most_;
    std::mutex mutex_;
    lru<std::shared_ptr<const cached>> entries_;
};

// Never destroyed: at process exit, the driver may be gone before static objects are destroyed.
struct caches {
    cache decisions{most_decisions}, primitives{INT_MAX};
};
caches &the_caches() {
    static caches *instance = [] {
        auto *made = new caches;
        on_cache_capacity_change([](int capacity) {
            the_caches().decisions.set_capacity(capacity);
            the_caches().primitives.set_capacity(capacity);
        });
        return made;
    }();
    return *instance;
}

// The key of a primitive. Different problems, implementations and devices have different keys.
std::string key_of(const zemm_primitive_desc &pd) {
    return text("%d,%p,%s", int(pd.kind()), (void *)pd.engine->device.get(), pd.impl_name()) + pd.key_text() +
           ',' + key_bytes(pd.key_tensors(), pd.attr());
}

} // namespace

std::string key_bytes(const std::vector<const memory_desc *> &tensors, const zemm_primitive_attr &attr) {
    std::string key = attr_key(attr);
    for (const memory_desc *md : tensors) {
        const std::vector<uint8_t> bytes = md_save(*md);
        key.append(bytes.begin(), bytes.end());
        key += md->extra_flags() ? '+' : ','; // matmuls with such tensors are refused
    }
    return key;
}

std::shared_ptr<const cached> get_compiled(const zemm_primitive_desc &pd, cache_result &where,
                                           const std::function<std::shared_ptr<const cached>()> &build) {
    const std::string key = key_of(pd);
    auto found = the_caches().primitives.find(key);
    where = cache_result::hit;
    if (!found) {
        found = the_caches().primitives.insert(key, build());
        where = found->from_disk ? cache_result::persistent_hit : cache_result::miss;
    }
    return found;
}

bool is_compiled(const zemm_primitive_desc &pd) {
    return the_caches().primitives.find(key_of(pd)) != nullptr;
}

size_t count_cached() {
    return the_caches().primitives.count();
}

void forget_cached(const ze::device &device) {
    the_caches().decisions.forget(device);
    the_caches().primitives.forget(device);
}

std::shared_ptr<const cached> find_decision(const std::string &key) {
    return the_caches().decisions.find(key);
}

std::shared_ptr<const cached> keep_decision(const std::string &key, std::shared_ptr<const cached> made) {
    return the_caches().decisions.insert(key, std::move(made));
}

} // namespace zemm
