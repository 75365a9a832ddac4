// SPDX-License-Identifier: Apache-2.0
//
// Waiting streams, and resuming them when no lock is held.
#pragma once

#include <atomic>
#include <memory>

namespace ze_cpu {

/// Something that is resumed when a condition changes: a stream whose next command cannot be
/// enqueued yet. The thread that makes the change resumes it. The driver has no threads of its own
/// for that, except those that watch for signals of other processes (SharedEvents).
class Waiter {
public:
    virtual ~Waiter() = default;

protected:
    virtual void resume() noexcept = 0;

private:
    friend class Resumption;
    std::shared_ptr<Waiter> next_;
    std::atomic<bool> noted_{false};
};

/// Puts off resuming waiters until no lock is held. While a thread has a Resumption, note() only
/// puts waiters on a list. The outermost Resumption of the thread resumes them at its end, one
/// after the other, and also those that are noted meanwhile.
class Resumption {
public:
    Resumption() noexcept;
    ~Resumption();
    Resumption(const Resumption &) = delete;
    Resumption &operator=(const Resumption &) = delete;

    /// Puts a waiter on this thread's list. The thread must have a Resumption.
    static void note(std::shared_ptr<Waiter> waiter) noexcept;

private:
    // The thread's list, by Waiter::next_. Only the outermost Resumption has one.
    std::shared_ptr<Waiter> first_, *end_ = &first_;
};

} // namespace ze_cpu
