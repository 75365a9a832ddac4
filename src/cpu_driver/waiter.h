// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>

namespace ze_cpu {

/// What goes on when something else has happened: a stream whose next command cannot be enqueued yet. Whoever
/// makes that happen resumes it, on its own thread. The driver has none but those that watch for what other
/// processes signal (SharedEvents).
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

/// Resumes waiters when no lock is held any more: while a thread has one of these, they are only noted; the
/// end of the outermost one resumes them, and those that they in turn give reason to go on, one after the
/// other.
class Resumption {
public:
    Resumption() noexcept;
    ~Resumption();
    Resumption(const Resumption &) = delete;
    Resumption &operator=(const Resumption &) = delete;

    /// Only on a thread that has a Resumption.
    static void note(std::shared_ptr<Waiter> waiter) noexcept;
};

} // namespace ze_cpu
