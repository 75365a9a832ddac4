// SPDX-License-Identifier: Apache-2.0
#include "waiter.h"

#include <utility>

namespace ze_cpu {
namespace {

// A pointer needs no destructor, so that static destructors of the program may still use the driver.
thread_local Resumption *outermost = nullptr;

} // namespace

Resumption::Resumption() noexcept {
    if (!outermost)
        outermost = this;
}

Resumption::~Resumption() {
    if (outermost != this)
        return;
    while (first_) {
        const std::shared_ptr<Waiter> waiter = std::exchange(first_, nullptr);
        first_ = std::exchange(waiter->next_, nullptr);
        if (!first_)
            end_ = &first_;
        // From here on any thread may note the waiter again. What changed before is seen by
        // resume().
        waiter->noted_.store(false);
        waiter->resume();
    }
    outermost = nullptr;
}

void Resumption::note(std::shared_ptr<Waiter> waiter) noexcept {
    if (waiter->noted_.exchange(true))
        return; // it is on a thread's list, which has not resumed it yet
    Waiter &added = *waiter;
    *outermost->end_ = std::move(waiter);
    outermost->end_ = &added.next_;
}

} // namespace ze_cpu
