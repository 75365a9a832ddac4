// SPDX-License-Identifier: Apache-2.0
#include "primitive/deferred.hpp"

#include <algorithm>

#include "primitive/fallback.hpp"
#include "primitive/primitive_cache.hpp"

namespace zemm {

deferred_desc::deferred_desc(const deferred_desc &other)
    : zemm_primitive_desc(other), likely_(other.likely_->clone()), passed_(other.passed_) {}

bool deferred_desc::next_impl() {
    const std::string current = impl_name();
    passed_.reserve(passed_.size() + 1);
    if (!likely_->next_impl())
        return false;
    passed_.push_back(current);
    return true;
}

cache_result deferred_desc::enter_cache() const {
    cache_result found;
    get_compiled(*this, found, [&] { return std::make_shared<cached>(engine->device); });
    return found;
}

std::unique_ptr<zemm_primitive_desc> deferred_desc::settle(std::unique_ptr<zemm_primitive_desc> best) const {
    skip_failed(*best);
    const auto is_passed = [&] { return std::ranges::count(passed_, best->impl_name()) > 0; };
    if (!is_passed())
        return best;
    auto first = best->clone();
    while (is_passed())
        if (!next_working_impl(*best))
            return first;
    return best;
}

std::shared_ptr<const zemm_primitive>
recent_primitives::get(const std::string &key,
                       const std::function<std::unique_ptr<zemm_primitive_desc>()> &make) {
    {
        const std::lock_guard hold(lock_);
        if (const auto *found = by_key_.find(key))
            return *found;
    }
    cache_result where;
    std::shared_ptr<const zemm_primitive> made = create_primitive(*make(), where);
    const std::lock_guard hold(lock_);
    if (const auto *found = by_key_.find(key)) // another thread has made it meanwhile
        return *found;
    by_key_.add(key, made);
    by_key_.shrink(most);
    return made;
}

void recent_primitives::add(const std::string &key, std::shared_ptr<const zemm_primitive> primitive) {
    const std::lock_guard hold(lock_);
    by_key_.add(key, std::move(primitive));
}

} // namespace zemm
