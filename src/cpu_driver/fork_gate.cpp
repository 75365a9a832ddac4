// SPDX-License-Identifier: Apache-2.0
#include "fork_gate.h"

#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>

#include <pthread.h>
#include <unistd.h>

#include "all_streams.h"
#include "host_wait.h"
#include "runtime.h"
#include "signal_state.h"

namespace ze_cpu {
namespace {

/// One of several counters of threads, each in its own cache line so that threads do not contend.
struct alignas(64) Slot {
    std::atomic<int> inside{0};
};
std::array<Slot, 16> slots;

std::atomic<bool> closed{false}, child{false}, broken{false};
bool is_quiet = false;

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

/// A thread's state in /proc: 'R' means that it runs or is ready to run.
char state_of(const std::filesystem::path &task) {
    std::string stat;
    std::getline(std::ifstream(task / "stat"), stat);
    const size_t name_end = stat.rfind(')');
    return name_end + 2 < stat.size() ? stat[name_end + 2] : '?';
}

bool do_others_run() {
    std::error_code failure;
    const std::string own = std::to_string(gettid());
    for (std::filesystem::directory_iterator at("/proc/self/task", failure), end; !failure && at != end;
         at.increment(failure))
        if (at->path().filename() != own && state_of(at->path()) == 'R')
            return true;
    return false;
}

/// Waits until the runtime's threads sleep, which they do when they have no work; they hold none of
/// the runtime's locks then. They cannot be told from the program's threads, which may run for
/// ever, so the wait has a limit.
void let_runtime_sleep() {
    const Deadline deadline(100'000'000);
    while (do_others_run() && !deadline.passed())
        std::this_thread::sleep_for(std::chrono::microseconds(200));
}

/// The limit of the wait before a fork. Enqueued commands complete by themselves, unless a kernel
/// waits for the host. After that time the child cannot use the driver.
constexpr uint64_t longest_ns = 5'000'000'000;

void before_fork() {
    forking().lock();
    closed = true;
    const Deadline deadline(longest_ns);
    while (!are_all_out() && !deadline.passed())
        std::this_thread::sleep_for(std::chrono::microseconds(50));
    is_quiet = are_all_out() && finish_queues(deadline);
    if (is_quiet)
        let_runtime_sleep();
}

void open_again() {
    closed = false;
    closed.notify_all();
    forking().unlock();
}

void in_child() {
    child = true;
    broken = broken || !is_quiet;
    for (Slot &slot : slots)
        slot.inside = 0;
    forget_host_waits();
    open_again();
}

} // namespace

void ForkGate::enter() noexcept {
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
    own_slot().inside.fetch_sub(1);
}

void ForkGate::watch_forks() {
    pthread_atfork(before_fork, open_again, in_child);
}

bool ForkGate::is_child() noexcept {
    return child.load(std::memory_order_relaxed);
}

void ForkGate::finish_in_child(cl::Queue queue) {
    static std::mutex &running = *new std::mutex;
    std::lock_guard lock(running);
    opencl().clFinish(queue);
}

bool ForkGate::is_broken() noexcept {
    return broken.load(std::memory_order_relaxed);
}

} // namespace ze_cpu
