// SPDX-License-Identifier: Apache-2.0
#include "waiter.h"

#include <utility>

namespace ze_cpu {
namespace {

thread_local int depth = 0;
thread_local std::shared_ptr<Waiter> first, *end = &first; // a list by Waiter::next_

} // namespace

Resumption::Resumption() noexcept {
    depth++;
}

Resumption::~Resumption() {
    while (depth == 1 && first) {
        const std::shared_ptr<Waiter> waiter = std::exchange(first, nullptr);
        first = std::exchange(waiter->next_, nullptr);
        if (!first)
            end = &first;
        // From here on any thread may note the waiter again. What changed before is seen by
        // resume().
        waiter->noted_.store(false);
        waiter->resume();
    }
    depth--;
}

void Resumption::note(std::shared_ptr<Waiter> waiter) noexcept {
    if (waiter->noted_.exchange(true))
        return; // it is on a thread's list, which has not resumed it yet
    Waiter &added = *waiter;
    *end = std::move(waiter);
    end = &added.next_;
}

} // namespace ze_cpu
