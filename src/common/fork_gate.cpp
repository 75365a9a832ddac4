// SPDX-License-Identifier: Apache-2.0
// Counts the threads inside entry points, and the handlers of fork() that wait for them.
#include "common/fork_gate.hpp"

#include <atomic>
#include <chrono>
#include <mutex>
#include <new>
#include <thread>

#include <pthread.h>

#include "common/error.hpp"

namespace zemm::fork_gate {

namespace {

using clock_type = std::chrono::steady_clock;

// How long a fork waits for other threads to leave; builds of kernels take seconds. If it waited in
// vain, the child cannot use the library.
constexpr std::chrono::seconds longest{10};

thread_local int depth = 0; // nested passes of this thread
std::atomic<int> inside{0}; // threads inside an entry point
// closed: a fork is in progress. broken: this process was forked while a thread was inside.
std::atomic<bool> closed{false}, broken{false};

// Held during a fork, so that forks do not overlap. Recursive, because watch() registers the
// handlers once per opened driver, and each fork then runs all of them in one thread.
std::recursive_mutex &forking() {
    static std::recursive_mutex *leaked = new std::recursive_mutex;
    return *leaked;
}
int handlers = 0;      // calls of before() without their after_...() yet
bool is_quiet = false; // no thread was inside when before() returned

void enter() noexcept {
    for (;;) {
        inside.fetch_add(1);
        if (!closed.load())
            return;
        inside.fetch_sub(1);
        closed.wait(true);
    }
}

void before() {
    forking().lock();
    if (handlers++)
        return;
    closed = true;
    const auto end = clock_type::now() + longest;
    // Asked once per turn: a thread that comes to the closed gate is counted for a moment.
    while (!(is_quiet = !inside.load()) && clock_type::now() < end)
        std::this_thread::sleep_for(std::chrono::microseconds(50));
}

void open_again() {
    closed = false;
    closed.notify_all();
}

void after_in_parent() {
    if (!--handlers)
        open_again();
    forking().unlock();
}

void after_in_child() {
    new (&forking()) std::recursive_mutex; // the parent locked it, and the child cannot unlock it
    handlers = 0;
    broken = broken || !is_quiet;
    inside = 0;
    open_again();
}

} // namespace

pass::pass() {
    if (depth++)
        return;
    enter();
    if (!broken.load(std::memory_order_relaxed))
        return;
    depth--;
    inside.fetch_sub(1);
    fail(zemm_runtime_error,
         "this process was forked while another thread was busy in zemm for more than %d seconds, so what it "
         "inherited cannot be used: fork before, or start a new program",
         static_cast<int>(longest.count()));
}

pass::~pass() {
    if (!--depth)
        inside.fetch_sub(1);
}

pause::pause() noexcept {
    if (depth)
        inside.fetch_sub(1);
}

pause::~pause() {
    if (depth)
        enter();
}

void watch() {
    pthread_atfork(before, after_in_parent, after_in_child);
}

} // namespace zemm::fork_gate
