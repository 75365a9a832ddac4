// SPDX-License-Identifier: Apache-2.0
//
// The states of the events of a pool that several processes share. They are in memory with a file
// descriptor, beside a counter of changes. Threads that wait for an event sleep on that counter, in
// whichever process.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>

#include "process/deadline.h"
#include "process/memory_file.h"

namespace ze_cpu {

/// The state of an event. It is in memory that processes share, or in the event's Signal.
struct EventState {
    enum Value : uint32_t { clear, set, failed };
    std::atomic<uint32_t> value{clear};
    std::atomic<uint64_t> start{0}, end{0}; // timestamps of the command that set it last
};
static_assert(std::atomic<uint32_t>::is_always_lock_free && std::atomic<uint64_t>::is_always_lock_free);

/// An object that a thread looks at after each change.
class Watched {
public:
    /// Returns false if nobody waits any more.
    virtual bool look_at_state() = 0;

protected:
    ~Watched() = default;
};

class SharedEvents : public std::enable_shared_from_this<SharedEvents> {
public:
    /// Creates `count` events, all clear. `flags` are the pool's. Throws ze_result_t.
    static std::shared_ptr<SharedEvents> create(uint32_t count, uint32_t flags);
    /// Opens the events of an existing pool, of this process or another. Null if the file is
    /// something else.
    static std::shared_ptr<SharedEvents> open(std::shared_ptr<MemoryFile> file);

    ~SharedEvents();
    SharedEvents(const SharedEvents &) = delete;
    SharedEvents &operator=(const SharedEvents &) = delete;

    const MemoryFile &file() const { return *file_; }
    uint32_t count() const { return count_; }
    uint32_t flags() const { return flags_; } // of the pool
    EventState &state(uint32_t index) const;

    /// To be called after each change of a state.
    void wake() noexcept;
    /// Blocks until `done()` returns true; it is called again after each change. The thread must
    /// not hold a lock. Returns false if the deadline passes first. Throws ZE_RESULT_ERROR_UNINITIALIZED
    /// if another thread ends the process.
    bool wait(const std::function<bool()> &done, const Deadline &deadline);
    /// Makes a thread look at the object after each change, as long as a stream waits for it.
    void watch(std::weak_ptr<Watched> object);

    /// Wakes the threads of this process that wait in any of its SharedEvents. They look again.
    static void wake_all();
    /// In a child of fork(): starts the threads that its parent had for watch().
    static void watch_in_child();

private:
    struct Header;

    explicit SharedEvents(std::shared_ptr<MemoryFile> file); // maps it
    static std::shared_ptr<SharedEvents> make(std::shared_ptr<MemoryFile> file);
    Header &header() const { return *static_cast<Header *>(memory_); }
    void sleep(uint32_t seen, const Deadline &deadline) const;
    bool is_watched() const;
    void start_watcher();
    void watch_changes() noexcept;
    bool look();

    const std::shared_ptr<MemoryFile> file_;
    void *const memory_;
    uint32_t count_ = 0, flags_ = 0; // copies: other processes can write into the memory

    std::mutex mutex_;
    std::list<std::weak_ptr<Watched>> watched_;
    bool has_watcher_ = false;
    unsigned watcher_of_ = 0; // the process whose thread watches, by ForkGate::generation()
};

} // namespace ze_cpu
