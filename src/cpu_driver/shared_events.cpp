// SPDX-License-Identifier: Apache-2.0
#include "shared_events.h"

#include <climits>
#include <system_error>
#include <thread>

#include <linux/futex.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <level_zero/ze_api.h>

#include "fork_gate.h"
#include "signal_state.h"

namespace ze_cpu {
namespace {

constexpr uint64_t magic = 0x73746e6576657a63;
constexpr size_t states_at = 64;

} // namespace

struct SharedEvents::Header {
    uint64_t magic;
    uint32_t count, flags;
    std::atomic<uint32_t> changes;
};

SharedEvents::SharedEvents(std::shared_ptr<MemoryFile> file)
    : file_(std::move(file)), memory_(file_->map(0, file_->size(), PROT_READ | PROT_WRITE)) {
    static_assert(sizeof(Header) <= states_at);
    if (!memory_)
        throw ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
}

SharedEvents::~SharedEvents() {
    munmap(memory_, file_->size());
}

std::shared_ptr<SharedEvents> SharedEvents::create(uint32_t count, uint32_t flags) {
    const size_t size = states_at + count * sizeof(EventState);
    std::shared_ptr<SharedEvents> events(new SharedEvents(MemoryFile::create(size)));
    Header &header = events->header(); // all states are clear, as new files are zero
    header.magic = magic;
    header.count = events->count_ = count;
    header.flags = events->flags_ = flags;
    return events;
}

std::shared_ptr<SharedEvents> SharedEvents::open(std::shared_ptr<MemoryFile> file) {
    if (file->size() < states_at)
        return nullptr;
    const size_t room = (file->size() - states_at) / sizeof(EventState);
    std::shared_ptr<SharedEvents> events(new SharedEvents(std::move(file)));
    const Header &header = events->header();
    events->count_ = header.count;
    events->flags_ = header.flags;
    return header.magic == magic && events->count_ <= room ? events : nullptr;
}

EventState &SharedEvents::state(uint32_t index) const {
    return reinterpret_cast<EventState *>(static_cast<char *>(memory_) + states_at)[index];
}

void SharedEvents::wake() noexcept {
    header().changes.fetch_add(1);
    syscall(SYS_futex, &header().changes, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

/// Sleeps until the counter differs from `seen` or the deadline passes. May return earlier.
void SharedEvents::sleep(uint32_t seen, const Deadline &deadline) const {
    timespec until{}; // steady_clock is CLOCK_MONOTONIC, which the futex uses, too
    const auto time = std::chrono::duration_cast<std::chrono::nanoseconds>(deadline.at().time_since_epoch());
    until.tv_sec = time_t(time.count() / 1'000'000'000);
    until.tv_nsec = long(time.count() % 1'000'000'000);
    const ForkGate::Pause pause;
    syscall(SYS_futex, &header().changes, FUTEX_WAIT_BITSET, seen, deadline.forever() ? nullptr : &until,
            nullptr, FUTEX_BITSET_MATCH_ANY);
}

bool SharedEvents::wait(const std::function<bool()> &done, const Deadline &deadline) {
    for (;;) {
        const uint32_t seen = header().changes.load();
        if (done())
            return true;
        if (deadline.passed())
            return false;
        sleep(seen, deadline);
    }
}

void SharedEvents::watch(std::weak_ptr<Signal> signal) {
    std::list<std::weak_ptr<Signal>> added;
    added.push_back(std::move(signal));
    {
        std::lock_guard lock(mutex_);
        if (watcher_of_ != getpid())
            start_watcher(); // its look() waits for the mutex and so sees the Signal
        watched_.splice(watched_.end(), added);
    }
    wake();
}

void SharedEvents::start_watcher() try {
    std::thread([self = shared_from_this()] { self->watch_changes(); }).detach();
    watcher_of_ = getpid();
} catch (const std::system_error &) {
    throw ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY; // no more threads
}

void SharedEvents::watch_changes() noexcept {
    pthread_setname_np(pthread_self(), "ze_cpu_events");
    const ForkGate::Pass pass; // a fork waits until this thread sleeps
    for (;;) {
        const uint32_t seen = header().changes.load();
        if (!look())
            return;
        sleep(seen, Deadline(UINT64_MAX));
    }
}

/// Looks at all watched Signals. Returns false if none is left to watch: this thread then ends, and
/// the next watch() starts another one.
bool SharedEvents::look() {
    std::list<std::weak_ptr<Signal>> seen;
    {
        std::lock_guard lock(mutex_);
        seen.swap(watched_);
    }
    // Without the mutex: a stream that is resumed may have to wait again, and call watch().
    seen.remove_if([](const std::weak_ptr<Signal> &signal) {
        const std::shared_ptr<Signal> alive = signal.lock();
        return !alive || !alive->look_at_state();
    });
    std::lock_guard lock(mutex_);
    watched_.splice(watched_.end(), seen);
    if (watched_.empty())
        watcher_of_ = 0;
    return !watched_.empty();
}

} // namespace ze_cpu
