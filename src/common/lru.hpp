// SPDX-License-Identifier: Apache-2.0
// The list behind a cache: values by key, in the order of their last use. Whoever owns it locks it, and
// decides how many it keeps.
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

    // nullptr when there is no such entry. Else it is now the one used last.
    Value *find(const std::string &key) {
        const auto found = by_key_.find(key);
        if (found == by_key_.end())
            return nullptr;
        newest_first_.splice(newest_first_.begin(), newest_first_, found->second);
        return &found->second->second;
    }

    // For a key that has no entry. Where this throws, nothing has changed.
    Value &add(const std::string &key, Value value) {
        entries added;
        added.emplace_front(key, std::move(value));
        by_key_.emplace(key, added.begin());
        newest_first_.splice(newest_first_.begin(), added);
        return newest_first_.front().second;
    }

    // Drops what was not used for the longest time.
    void shrink(size_t capacity) {
        while (newest_first_.size() > capacity) {
            by_key_.erase(newest_first_.back().first);
            newest_first_.pop_back();
        }
    }

    // The entries whose values the predicate names leave the list; the caller chooses when they are
    // destroyed.
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
