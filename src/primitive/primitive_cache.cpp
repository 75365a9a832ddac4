// SPDX-License-Identifier: Apache-2.0
#include "primitive/primitive_cache.hpp"

#include <list>
#include <mutex>
#include <unordered_map>

#include "primitive/cache_capacity.hpp"

namespace zemm {

namespace {

class cache {
public:
    std::shared_ptr<const cached> find(const std::string &key) {
        const std::lock_guard lock(mutex_);
        const auto found = index_.find(key);
        if (found == index_.end())
            return nullptr;
        entries_.splice(entries_.begin(), entries_, found->second);
        return found->second->second;
    }

    // Keeps the first of two that were built at the same time.
    std::shared_ptr<const cached> insert(const std::string &key, std::shared_ptr<const cached> value) {
        const int capacity = primitive_cache_capacity();
        const std::lock_guard lock(mutex_);
        const auto found = index_.find(key);
        if (found != index_.end())
            return found->second->second;
        decltype(entries_) added; // what may throw comes before the cache changes
        added.emplace_front(key, value);
        index_[key] = added.begin();
        entries_.splice(entries_.begin(), added);
        shrink(capacity);
        return value;
    }

    void forget(const ze::device &device) {
        decltype(entries_) dropped; // destroyed after the lock is released
        const std::lock_guard lock(mutex_);
        for (auto it = entries_.begin(); it != entries_.end();) {
            const auto next = std::next(it);
            if (it->second->device.get() == &device) {
                index_.erase(it->first);
                dropped.splice(dropped.begin(), entries_, it);
            }
            it = next;
        }
    }

    void set_capacity(int capacity) {
        const std::lock_guard lock(mutex_);
        shrink(capacity);
    }

private:
    void shrink(int capacity) {
        while (entries_.size() > size_t(capacity)) {
            index_.erase(entries_.back().first);
            entries_.pop_back();
        }
    }

    std::mutex mutex_;
    std::list<std::pair<std::string, std::shared_ptr<const cached>>> entries_; // most recent first
    std::unordered_map<std::string, decltype(entries_)::iterator> index_;
};

// Never destroyed: at process exit the device's driver may be gone before static objects are.
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

void forget_cached(const ze::device &device) {
    the_cache().forget(device);
}

} // namespace zemm
