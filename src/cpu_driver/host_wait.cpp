// SPDX-License-Identifier: Apache-2.0
#include "host_wait.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "cancellation.h"
#include "fork_gate.h"
#include "signal_state.h"

namespace ze_cpu {
namespace {

struct Monitor {
    std::atomic<uint64_t> generation{0};
    std::atomic<int> waiting{0};
    std::mutex mutex;
    std::condition_variable changed;
};

// Never destroyed: threads may still wait on it at process exit.
std::atomic<Monitor *> the_monitor{new Monitor};

} // namespace

bool host_wait(const std::function<bool()> &done, const Deadline &deadline) {
    if (done())
        return true;
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
        const ForkGate::Pause pause;
        std::unique_lock lock(m.mutex);
        auto is_later = [&] { return m.generation.load() != seen; };
        const Cancellable here;
        // wait() would be the only function that needs the libstdc++ of GCC 12 (docs/install.md). A day
        // is as good: the loop goes on.
        const auto day = std::chrono::steady_clock::now() + std::chrono::hours(24);
        m.changed.wait_until(lock, deadline.forever() ? day : deadline.at(), is_later);
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
