// SPDX-License-Identifier: Apache-2.0
// The primitive cache: one list for the whole process, by keys, and its capacity.
#include "primitive/primitive_cache.hpp"

#include <atomic>
#include <charconv>
#include <mutex>

#include "common/env.hpp"
#include "common/error.hpp"
#include "common/lru.hpp"
#include "common/md_ops.hpp"
#include "common/names.hpp"
#include "primitive/primitive_desc.hpp"

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

// The key of a primitive. Different problems, implementations and devices have different keys.
std::string key_of(const zemm_primitive_desc &pd) {
    std::string key = text("%s,%p,%s%s,", primitive_kind_name(pd.kind()), (void *)pd.engine->device.get(),
                           pd.impl_name(), pd.key_text().c_str()) +
                      attr_key(pd.attr());
    for (const memory_desc *md : pd.key_tensors()) {
        const std::vector<uint8_t> bytes = md_save(*md);
        key.append(bytes.begin(), bytes.end());
    }
    return key;
}

} // namespace

std::shared_ptr<const cached> get_compiled(const zemm_primitive_desc &pd, cache_result &where,
                                           const std::function<std::shared_ptr<const cached>()> &build) {
    const std::string key = key_of(pd);
    auto found = the_cache().find(key);
    where = cache_result::hit;
    if (!found) {
        found = the_cache().insert(key, build());
        where = found->from_disk ? cache_result::persistent_hit : cache_result::miss;
    }
    return found;
}

bool is_compiled(const zemm_primitive_desc &pd) {
    return the_cache().find(key_of(pd)) != nullptr;
}

size_t count_cached() {
    return the_cache().count();
}

void forget_cached(const ze::device &device) {
    the_cache().forget(device);
}

} // namespace zemm
