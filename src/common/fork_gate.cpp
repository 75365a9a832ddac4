// SPDX-License-Identifier: Apache-2.0
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

// Builds of kernels take seconds. After so long the child does without the library.
constexpr std::chrono::seconds longest{10};

thread_local int depth = 0; // passes of this thread
std::atomic<int> inside{0};
std::atomic<bool> closed{false}, broken{false};

// One fork at a time; more than one handler of it.
std::recursive_mutex &forking() {
    static std::recursive_mutex *leaked = new std::recursive_mutex;
    return *leaked;
}
int handlers = 0; // begun, of this fork
bool is_quiet = false;

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
    while (inside.load() && clock_type::now() < end)
        std::this_thread::sleep_for(std::chrono::microseconds(50));
    is_quiet = !inside.load();
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
    new (&forking()) std::recursive_mutex; // locked by a thread of the parent
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
