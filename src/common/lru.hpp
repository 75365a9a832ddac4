// SPDX-License-Identifier: Apache-2.0
// The list behind a cache: values by key, in the order of their last use. Its owner locks it and
// decides how many values it keeps.
#pragma once

#include <cstddef>
#include <iterator>
#include <list>
#include <string>
#include <unordered_map>
#include <utility>

namespace zemm {

template <typename Value> class lru {
public:
    using entries = std::list<std::pair<const std::string, Value>>;

    // Finds an entry and makes it the most recently used one; nullptr if there is none.
    Value *find(const std::string &key) {
        const auto found = by_key_.find(key);
        if (found == by_key_.end())
            return nullptr;
        newest_first_.splice(newest_first_.begin(), newest_first_, found->second);
        return &found->second->second;
    }

    // Adds an entry; the key must not have one yet. If this throws, the list is unchanged.
    Value &add(const std::string &key, Value value) {
        entries added;
        added.emplace_front(key, std::move(value));
        by_key_.emplace(key, added.begin());
        newest_first_.splice(newest_first_.begin(), added);
        return newest_first_.front().second;
    }

    size_t size() const { return newest_first_.size(); }

    // Drops the least recently used entries beyond the capacity.
    void shrink(size_t capacity) {
        while (newest_first_.size() > capacity) {
            by_key_.erase(newest_first_.back().first);
            newest_first_.pop_back();
        }
    }

    // Removes the entries whose value fulfils the predicate and returns them. The caller decides
    // when they are destroyed.
    template <typename Predicate> entries take_if(Predicate is_wanted) {
        entries taken;
        for (auto it = newest_first_.begin(); it != newest_first_.end();) {
            const auto next = std::next(it);
            if (is_wanted(std::as_const(it->second))) {
                by_key_.erase(it->first);
                taken.splice(taken.begin(), newest_first_, it);
            }
            it = next;
        }
        return taken;
    }

private:
    entries newest_first_;
    std::unordered_map<std::string, typename entries::iterator> by_key_;
};

} // namespace zemm
