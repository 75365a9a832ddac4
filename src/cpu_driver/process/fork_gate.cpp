// SPDX-License-Identifier: Apache-2.0
#include "fork_gate.h"

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include <pthread.h>
#include <unistd.h>

namespace ze_cpu {
namespace {

/// One of several counters of threads, each in its own cache line so that threads do not contend.
struct alignas(64) Slot {
    std::atomic<int> inside{0};
};
std::array<Slot, 16> slots;

thread_local int depth = 0;         // Passes and Callbacks of this thread; the first Pass is counted
std::atomic<int> paused_threads{0}; // with a Pause

std::atomic<bool> closed{false}, broken{false};
std::atomic<unsigned> forks{0}; // between the process that loaded the driver and this one
std::atomic<pid_t> exiting{0};  // the thread that ends the process, if one does
bool is_quiet = false;
ForkGate::Watched above;

/// One fork at a time.
std::mutex &forking() {
    static std::mutex *leaked = new std::mutex;
    return *leaked;
}

Slot &own_slot() {
    static std::atomic<unsigned> next{0};
    thread_local Slot &slot = slots[next++ % slots.size()];
    return slot;
}

bool are_all_out() {
    for (const Slot &slot : slots)
        if (slot.inside.load() != 0)
            return false;
    return true;
}

/// How often each of the process's other threads has stopped running, by its number. Nothing if one
/// runs, is ready to run, or waits for the kernel (states 'R' and 'D' of /proc/<pid>/task/<tid>/status).
using Stops = std::map<std::string, std::string>;
std::optional<Stops> stops_of_others() {
    const std::string own = std::to_string(gettid());
    Stops stops;
    std::error_code failure;
    for (std::filesystem::directory_iterator at("/proc/self/task", failure), end; !failure && at != end;
         at.increment(failure)) {
        const std::string thread = at->path().filename();
        if (thread == own)
            continue;
        std::ifstream status(at->path() / "status");
        for (std::string line; std::getline(status, line);)
            if (line.starts_with("State:\tR") || line.starts_with("State:\tD"))
                return std::nullopt;
            else if (line.find("ctxt_switches:") != std::string::npos)
                stops[thread] += line;
    }
    return stops;
}

/// Waits until the runtime's threads sleep, which they do when they have no work; they hold none of
/// the runtime's locks then. They cannot be told from the program's threads, which may run for
/// ever, so the wait has a limit.
///
/// The threads are looked at one after the other, and one may have woken another meanwhile. If none
/// has stopped between two looks that found all of them asleep, they slept at the same time.
void let_runtime_sleep() {
    const Deadline deadline(100'000'000);
    auto before = stops_of_others();
    while (!deadline.passed()) {
        auto now = stops_of_others();
        if (now && now == before)
            return;
        before = std::move(now);
        std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
}

/// The limit of the wait before a fork. Enqueued commands complete by themselves, unless a kernel
/// waits for the host. After that time the child cannot use the driver.
constexpr uint64_t longest_ns = 5'000'000'000;

/// Closes the gate and returns whether all threads are out, or false at the deadline.
bool close(const Deadline &deadline) {
    forking().lock();
    closed = true;
    // Asked once per turn: a thread that comes to the closed gate is counted for a moment.
    bool all_out = are_all_out();
    for (; !all_out && !deadline.passed(); all_out = are_all_out())
        std::this_thread::sleep_for(std::chrono::microseconds(50));
    return all_out;
}

void before_fork() {
    const Deadline deadline(longest_ns);
    is_quiet = close(deadline) && above.finish_queues(deadline);
    if (is_quiet)
        let_runtime_sleep();
}

void open_again() {
    closed = false;
    closed.notify_all();
    forking().unlock();
}

/// The thread that ends the process may still use the runtime: static objects of the program release
/// what they have. Calls of other threads fail, so that they end and a static object can join them.
void before_exit() {
    exiting = gettid();
    const Deadline deadline(1'000'000'000); // a thread may wait for a kernel that never ends
    for (; paused_threads.load() != 0 && !deadline.passed();
         std::this_thread::sleep_for(std::chrono::microseconds(50))) {
        above.wake_waiting();
    }
    close(deadline);
    open_again();
}

void in_child() {
    forks++;
    broken = broken || !is_quiet;
    exiting = 0; // no other thread is left
    for (Slot &slot : slots)
        slot.inside = 0;
    paused_threads = 0;
    above.forget_waiting();
    open_again();
}

} // namespace

void ForkGate::enter() noexcept {
    if (depth++)
        return;
    std::atomic<int> &inside = own_slot().inside;
    for (;;) {
        inside.fetch_add(1);
        if (!closed.load())
            return;
        inside.fetch_sub(1);
        closed.wait(true);
    }
}

void ForkGate::leave() noexcept {
    if (--depth == 0)
        own_slot().inside.fetch_sub(1);
}

ForkGate::Callback::Callback() noexcept {
    depth++;
}

ForkGate::Callback::~Callback() {
    depth--;
}

ForkGate::Pause::Pause() noexcept {
    paused_threads.fetch_add(1);
    leave();
}

ForkGate::Pause::~Pause() {
    enter();
    paused_threads.fetch_sub(1);
}

void ForkGate::watch_forks(const Watched &watched) {
    above = watched;
    pthread_atfork(before_fork, open_again, in_child);
}

void ForkGate::watch_exit() {
    std::atexit(before_exit);
}

bool ForkGate::is_child() noexcept {
    return generation() != 0;
}

unsigned ForkGate::generation() noexcept {
    return forks.load(std::memory_order_relaxed);
}

bool ForkGate::refuses() noexcept {
    const pid_t ends = exiting.load(std::memory_order_relaxed);
    return broken.load(std::memory_order_relaxed) || (ends != 0 && ends != gettid());
}

void ForkGate::check_still_open() {
    // A thread that forks looks at the queues from outside, and the child may use the runtime.
    if (depth && refuses())
        throw ZE_RESULT_ERROR_UNINITIALIZED;
}

} // namespace ze_cpu
