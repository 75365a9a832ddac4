// SPDX-License-Identifier: Apache-2.0
#include "shared_events.h"

#include <climits>
#include <set>
#include <system_error>
#include <thread>
#include <vector>

#include <linux/futex.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <level_zero/ze_api.h>

#include "process/cancellation.h"
#include "process/fork_gate.h"

namespace ze_cpu {
namespace {

constexpr uint64_t magic = 0x73746e6576657a63;
constexpr size_t states_at = 64;

/// All objects of this process.
struct Registry {
    std::mutex mutex;
    std::set<SharedEvents *> all;
};
Registry &registry() {
    static Registry *leaked = new Registry;
    return *leaked;
}

/// A wait on a futex is no cancellation point. So this thread may be cancelled at any instruction during
/// it. That is safe in a function that has no object to destroy. The address sanitizer leaves it alone,
/// because it does not learn when a cancelled thread leaves a function.
[[gnu::noinline, gnu::no_sanitize("address")]] void
cancellable_futex_wait(const std::atomic<uint32_t> *futex, uint32_t seen, const timespec *until) {
    int type = PTHREAD_CANCEL_DEFERRED;
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type);
    syscall(SYS_futex, futex, FUTEX_WAIT_BITSET, seen, until, nullptr, FUTEX_BITSET_MATCH_ANY);
    pthread_setcanceltype(type, nullptr);
}

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

std::shared_ptr<SharedEvents> SharedEvents::make(std::shared_ptr<MemoryFile> file) {
    std::shared_ptr<SharedEvents> events(new SharedEvents(std::move(file)));
    std::lock_guard lock(registry().mutex);
    registry().all.insert(events.get());
    return events;
}

SharedEvents::~SharedEvents() {
    {
        std::lock_guard lock(registry().mutex);
        registry().all.erase(this);
    }
    munmap(memory_, file_->size());
}

std::shared_ptr<SharedEvents> SharedEvents::create(uint32_t count, uint32_t flags) {
    const size_t size = states_at + count * sizeof(EventState);
    std::shared_ptr<SharedEvents> events = make(MemoryFile::create(size));
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
    std::shared_ptr<SharedEvents> events = make(std::move(file));
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
    timespec until{}; // steady_clock is CLOCK_MONOTONIC, which the futex also uses
    const auto time = std::chrono::duration_cast<std::chrono::nanoseconds>(deadline.at().time_since_epoch());
    until.tv_sec = time_t(time.count() / 1'000'000'000);
    until.tv_nsec = long(time.count() % 1'000'000'000);
    const ForkGate::Pause pause;
    const Cancellable here;
    cancellable_futex_wait(&header().changes, seen, deadline.forever() ? nullptr : &until);
}

bool SharedEvents::wait(const std::function<bool()> &done, const Deadline &deadline) {
    for (;;) {
        const uint32_t seen = header().changes.load();
        if (done())
            return true;
        if (deadline.passed())
            return false;
        sleep(seen, deadline);
        ForkGate::check_still_open();
    }
}

void SharedEvents::wake_all() {
    std::lock_guard lock(registry().mutex);
    for (SharedEvents *events : registry().all)
        events->wake();
}

void SharedEvents::watch(std::weak_ptr<Watched> object) {
    std::list<std::weak_ptr<Watched>> added;
    added.push_back(std::move(object));
    {
        std::lock_guard lock(mutex_);
        if (!is_watched())
            start_watcher(); // its look() waits for the mutex and so sees the object
        watched_.splice(watched_.end(), added);
    }
    wake();
}

void SharedEvents::watch_in_child() {
    static std::atomic<unsigned> seen{0};
    if (seen.exchange(ForkGate::generation()) == ForkGate::generation())
        return;
    std::vector<std::shared_ptr<SharedEvents>> all;
    {
        std::lock_guard lock(registry().mutex);
        all.reserve(registry().all.size());
        for (SharedEvents *events : registry().all)
            if (auto alive = events->weak_from_this().lock())
                all.push_back(std::move(alive));
    }
    for (const auto &events : all) {
        std::lock_guard lock(events->mutex_);
        if (!events->watched_.empty() && !events->is_watched())
            events->start_watcher();
    }
}

/// Whether a thread of this process watches. mutex_ must be held.
bool SharedEvents::is_watched() const {
    return has_watcher_ && watcher_of_ == ForkGate::generation();
}

void SharedEvents::start_watcher() try {
    std::thread([self = shared_from_this()] { self->watch_changes(); }).detach();
    has_watcher_ = true;
    watcher_of_ = ForkGate::generation();
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
        if (ForkGate::refuses())
            return; // the process ends
    }
}

/// Looks at all watched objects. Returns false if none is left to watch: this thread then ends, and
/// the next watch() starts another one.
bool SharedEvents::look() {
    std::list<std::weak_ptr<Watched>> seen;
    {
        std::lock_guard lock(mutex_);
        seen.swap(watched_);
    }
    // Without the mutex: a stream that is resumed may have to wait again, and call watch().
    seen.remove_if([](const std::weak_ptr<Watched> &object) {
        const std::shared_ptr<Watched> alive = object.lock();
        return !alive || !alive->look_at_state();
    });
    std::lock_guard lock(mutex_);
    watched_.splice(watched_.end(), seen);
    if (watched_.empty())
        has_watcher_ = false;
    return !watched_.empty();
}

} // namespace ze_cpu
