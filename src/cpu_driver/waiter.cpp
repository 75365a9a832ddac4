// SPDX-License-Identifier: Apache-2.0
#include "waiter.h"

#include <utility>

namespace ze_cpu {
namespace {

thread_local int depth = 0;
thread_local std::shared_ptr<Waiter> first, *end = &first; // linked by Waiter::next_

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
        // From here on it may be noted again, by any thread: what it missed before is seen by resume().
        waiter->noted_.store(false);
        waiter->resume();
    }
    depth--;
}

void Resumption::note(std::shared_ptr<Waiter> waiter) noexcept {
    if (waiter->noted_.exchange(true))
        return; // a thread has it on its list and has not begun with it
    Waiter &added = *waiter;
    *end = std::move(waiter);
    end = &added.next_;
}

} // namespace ze_cpu
