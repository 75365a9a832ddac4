// SPDX-License-Identifier: Apache-2.0
#include "host_wait.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "process/cancellation.h"
#include "process/fork_gate.h"
#include "shared_events.h"

namespace ze_cpu {
namespace {

struct Monitor {
    std::atomic<uint64_t> generation{0};
    std::atomic<int> waiting{0};
    std::mutex mutex;
    std::condition_variable changed;

    /// Sleeps until the generation differs from `seen` or the deadline passes. May return earlier.
    void sleep(uint64_t seen, const Deadline &deadline) {
        const ForkGate::Pause pause;
        std::unique_lock lock(mutex);
        auto is_later = [&] { return generation.load() != seen; };
        const Cancellable here;
        // wait() would be the only function that needs the libstdc++ of GCC 12 (docs/install.md). A day
        // is as good.
        const auto day = std::chrono::steady_clock::now() + std::chrono::hours(24);
        changed.wait_until(lock, deadline.forever() ? day : deadline.at(), is_later);
    }
};

// Never destroyed: threads may still wait on it at process exit.
std::atomic<Monitor *> the_monitor{new Monitor};

} // namespace

bool host_wait(const std::function<bool()> &done, const Deadline &deadline) {
    if (done())
        return true;
    SharedEvents::watch_in_child(); // a stream that the child inherited may be what this thread waits for
    Monitor &m = *the_monitor.load();
    struct Waiting {
        std::atomic<int> &count;
        explicit Waiting(std::atomic<int> &c) : count(c) { count.fetch_add(1); }
        ~Waiting() { count.fetch_sub(1); }
    } const waiting(m.waiting);
    for (;;) {
        // wake_hosts() raises the generation after the change and then looks for waiting threads.
        // So a change after this line shows either in done() or in the generation.
        const uint64_t seen = m.generation.load();
        if (done())
            return true;
        if (deadline.passed())
            return false;
        m.sleep(seen, deadline);
        ForkGate::check_still_open();
    }
}

void wake_hosts() {
    Monitor &m = *the_monitor.load();
    m.generation.fetch_add(1);
    if (m.waiting.load() == 0)
        return;
    { std::lock_guard lock(m.mutex); }
    m.changed.notify_all();
}

void forget_host_waits() {
    the_monitor = new Monitor;
}

} // namespace ze_cpu
