// SPDX-License-Identifier: Apache-2.0
// The primitive cache: one list for the whole process.
#include "primitive/primitive_cache.hpp"

#include <mutex>

#include "common/lru.hpp"
#include "primitive/cache_capacity.hpp"

namespace zemm {

namespace {

class cache {
public:
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
        entries_.shrink(size_t(capacity));
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
        entries_.shrink(size_t(capacity));
    }

private:
    std::mutex mutex_;
    lru<std::shared_ptr<const cached>> entries_;
};

// Never destroyed: at process exit, the driver may be gone before static objects are destroyed.
cache &the_cache() {
    static cache *instance = [] {
        auto *made = new cache;
        on_cache_capacity_change([](int capacity) { the_cache().set_capacity(capacity); });
        return made;
    }();
    return *instance;
}

} // namespace

std::shared_ptr<const cached> find_cached(const std::string &key) {
    return the_cache().find(key);
}

std::shared_ptr<const cached> keep_cached(const std::string &key, std::shared_ptr<const cached> value) {
    return the_cache().insert(key, std::move(value));
}

size_t count_cached() {
    return the_cache().count();
}

void forget_cached(const ze::device &device) {
    the_cache().forget(device);
}

} // namespace zemm
