// SPDX-License-Identifier: Apache-2.0
#include "crew.h"

#include <algorithm>
#include <array>
#include <cfenv>
#include <charconv>
#include <climits>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include <immintrin.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "opencl/runtime.h"
#include "opencl/thread_limit.h"

namespace ze_cpu::crew {
namespace {

/// The job under way. A thread takes the next items of it by adding their number to `ticket`, whose upper
/// half is the job's number. Between two jobs the lower half is `closed`, so that a thread that is late takes
/// nothing while the fields change.
struct Shared {
    alignas(64) std::atomic<uint64_t> ticket{0}; // number of the job << 32 | items taken
    std::atomic<Job *> job{nullptr};
    std::atomic<uint32_t> items{0}, least{1};  // least: items that are worth taking at once
    std::atomic<uint32_t> threads{1};          // that may take items, the helpers with the least numbers
    alignas(64) std::atomic<uint32_t> done{0}; // items
    alignas(64) std::atomic<uint32_t> wakes{0}, sleepers{0}; // wakes: what sleeping helpers look at
    std::mutex running;                                      // one job at a time
    uint32_t started = 0;                                    // helpers; under `running`
    bool is_complete = false;                                // no more are started; under `running`
    // What helpers prefetch between two jobs, the last piece of a range first.
    struct Range {
        std::atomic<const char *> begin;
        std::atomic<int> pieces{0};
    };
    alignas(64) std::array<Range, 4> ranges;
    std::atomic<uint32_t> ranges_used{0};
};
Shared &shared = *new Shared; // helpers use it while the process ends

float patience_us = 500; // how long helpers wait in a loop
cpu_set_t cpus;          // of the helpers and of the threads that they help

constexpr uint32_t closed = UINT32_MAX;

long futex(int operation, uint32_t value) {
    return syscall(SYS_futex, &shared.wakes, operation | FUTEX_PRIVATE_FLAG, value, nullptr, nullptr, 0);
}

uint32_t number_of_job() {
    return uint32_t(shared.ticket.load(std::memory_order_acquire) >> 32);
}

/// Takes a part of the job with the number and does it. Returns false if none is left.
bool do_part(uint32_t number) {
    uint64_t ticket = shared.ticket.load(std::memory_order_acquire);
    for (;;) {
        Job *const job = shared.job.load(std::memory_order_relaxed);
        const uint32_t items = shared.items.load(std::memory_order_relaxed), begin = uint32_t(ticket);
        if (ticket >> 32 != number || begin >= items)
            return false;
        const uint32_t count = Job::part_of(items - begin, shared.threads.load(std::memory_order_relaxed),
                                            shared.least.load(std::memory_order_relaxed));
        if (!shared.ticket.compare_exchange_weak(ticket, ticket + count, std::memory_order_acq_rel))
            continue;
        job->run(begin, count);
        shared.done.fetch_add(count, std::memory_order_release);
        return true;
    }
}

constexpr size_t piece_bytes = 2048; // a helper looks for a job after each piece

/// Prefetches a piece. Returns false if none is left.
bool fetch_piece() {
    for (Shared::Range &range : shared.ranges) {
        if (range.pieces.load(std::memory_order_relaxed) <= 0)
            continue;
        const int piece = range.pieces.fetch_sub(1, std::memory_order_acquire) - 1;
        if (piece < 0)
            continue;
        const char *const begin = range.begin.load(std::memory_order_relaxed) + size_t(piece) * piece_bytes;
        for (size_t i = 0; i < piece_bytes; i += 64)
            _mm_prefetch(begin + i, _MM_HINT_T1);
        return true;
    }
    return false;
}

/// Waits in a loop for another job than the last one, at most as long as `patience` says. Returns whether
/// there is one. If another thread has had the CPU meanwhile, patience becomes less.
bool wait_in_loop(uint32_t last, float &patience) {
    constexpr int looks = 256;         // some microseconds
    constexpr float contested_us = 20; // that sched_yield() takes if another thread runs
    const uint64_t start = timestamp_now();
    for (uint64_t now = start; float(now - start) < patience * 1000;) {
        for (int i = 0; i < looks; i++) {
            if (number_of_job() != last)
                return true;
            if (!fetch_piece())
                _mm_pause();
        }
        const uint64_t before = timestamp_now();
        sched_yield();
        now = timestamp_now();
        if (float(now - before) > contested_us * 1000) {
            patience /= 4;
            return false;
        }
    }
    return false;
}

void sleep(uint32_t last) {
    while (number_of_job() == last) {
        const uint32_t wakes = shared.wakes.load();
        shared.sleepers.fetch_add(1);
        if (number_of_job() == last)
            futex(FUTEX_WAIT, wakes);
        shared.sleepers.fetch_sub(1);
    }
}

/// number: of the helper, from 1 on.
void *help(void *number_of_helper) {
    const auto own = uint32_t(reinterpret_cast<uintptr_t>(number_of_helper));
    std::fesetenv(FE_DFL_ENV);
    float patience = patience_us;
    for (uint32_t number = 0;;) {
        const auto is_wanted = [&] { return own < shared.threads.load(std::memory_order_relaxed); };
        if (!is_wanted() || !wait_in_loop(number, patience))
            sleep(number);
        number = number_of_job();
        while (is_wanted() && do_part(number)) {
        }
        patience = std::min(patience * 1.25f + 0.1f, patience_us);
    }
}

/// Starts helpers with all signals blocked, which are the program's.
void start_helpers(uint32_t wanted) {
    constexpr size_t stack_bytes = size_t(8) << 20;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, stack_bytes);
    // Not the CPUs of this thread, which may be fewer.
    pthread_attr_setaffinity_np(&attributes, sizeof cpus, &cpus);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    for (pthread_t thread; shared.started < wanted && !shared.is_complete;)
        if (pthread_create(&thread, &attributes, help,
                           reinterpret_cast<void *>(uintptr_t(shared.started + 1))) == 0)
            shared.started++;
        else
            shared.is_complete = true;
    pthread_attr_destroy(&attributes);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

/// Threads for the job, of which this is one.
uint32_t threads_for(const Job &job) {
    const auto count = uint32_t(CPU_COUNT(&cpus));
    const uint32_t limit = thread_limit() ? std::min(count, thread_limit()) : count;
    if (job.items > 1 && shared.started + 1 < limit && !shared.is_complete)
        start_helpers(limit - 1);
    return std::clamp(limit, 1u, shared.started + 1);
}

} // namespace

bool run(Job &job) {
    std::unique_lock only(shared.running, std::try_to_lock);
    if (!only || job.items >= closed)
        return false;
    const uint32_t threads = threads_for(job), items = uint32_t(job.items);
    shared.job.store(&job, std::memory_order_relaxed);
    shared.items.store(items, std::memory_order_relaxed);
    shared.least.store(job.least_part(), std::memory_order_relaxed);
    shared.threads.store(threads, std::memory_order_relaxed);
    shared.done.store(0, std::memory_order_relaxed);
    for (Shared::Range &range : shared.ranges)
        range.pieces.store(0, std::memory_order_relaxed);
    shared.ranges_used.store(0, std::memory_order_relaxed);
    const uint32_t number = number_of_job() + 1;
    const uint64_t start = timestamp_now();
    shared.ticket.store(uint64_t(number) << 32); // sequentially consistent, as is the look for sleepers
    const uint32_t unwanted = shared.started + 1 - threads; // helpers that sleep, too
    if (shared.sleepers.load() > unwanted && job.is_worth_sharing()) {
        shared.wakes.fetch_add(1);
        futex(FUTEX_WAKE, INT_MAX);
    }
    while (do_part(number)) {
    }
    constexpr int looks = 2000; // before another thread may have this CPU, perhaps the helper that is late
    for (int i = 0; shared.done.load(std::memory_order_acquire) != items; i++)
        i < looks ? _mm_pause() : void(sched_yield());
    shared.ticket.store(uint64_t(number) << 32 | closed, std::memory_order_release);
    job.learn(start, threads);
    return true;
}

void fetch(const void *begin, size_t bytes) {
    constexpr size_t most_bytes = size_t(1) << 20; // of a cache of one core
    const uint32_t used = shared.ranges_used.fetch_add(1, std::memory_order_relaxed);
    if (used >= shared.ranges.size())
        return;
    shared.ranges[used].begin.store(static_cast<const char *>(begin), std::memory_order_relaxed);
    shared.ranges[used].pieces.store(int(std::min(bytes, most_bytes) / piece_bytes),
                                     std::memory_order_release);
}

void prepare() {
    constexpr uint32_t most = 1000;
    if (sched_getaffinity(0, sizeof cpus, &cpus) != 0)
        CPU_ZERO(&cpus); // more than a cpu_set_t has: no helpers
    const char *text = secure_getenv("ZEMM_SPIN_US");
    if (!text)
        return;
    uint32_t value = 0;
    const char *end = text + std::strlen(text);
    const auto read = std::from_chars(text, end, value);
    if (read.ec == std::errc() && read.ptr == end && value <= most) // src/ze/cpu_threads.cpp warns of others
        patience_us = float(value);
}

} // namespace ze_cpu::crew
