// SPDX-License-Identifier: Apache-2.0
//
// The states of the events of a pool that processes share: memory with a file descriptor, in which a counter
// says that something changed. Who waits sleeps on that counter, in whichever process.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>

#include <sys/types.h>

#include "memory_file.h"

namespace ze_cpu {

class Deadline;
class Signal;

/// What an event is at a time. In memory that processes share, or in its Signal.
struct EventState {
    enum Value : uint32_t { clear, set, failed };
    std::atomic<uint32_t> value{clear};
    std::atomic<uint64_t> start{0}, end{0}; // of the command that set it last
};
static_assert(std::atomic<uint32_t>::is_always_lock_free && std::atomic<uint64_t>::is_always_lock_free);

class SharedEvents : public std::enable_shared_from_this<SharedEvents> {
public:
    /// Events that are clear. Throws ze_result_t.
    static std::shared_ptr<SharedEvents> create(uint32_t count, uint32_t flags);
    /// Those of another pool, of this process or another. Null if the file is something else.
    static std::shared_ptr<SharedEvents> open(std::shared_ptr<MemoryFile> file);

    ~SharedEvents();
    SharedEvents(const SharedEvents &) = delete;
    SharedEvents &operator=(const SharedEvents &) = delete;

    const MemoryFile &file() const { return *file_; }
    uint32_t count() const { return count_; }
    uint32_t flags() const { return flags_; } // of the pool
    EventState &state(uint32_t index) const;

    /// After a change of a state.
    void wake() noexcept;
    /// Blocks until `done()`, which is asked again after each change. No lock may be held. False if the
    /// deadline passed first.
    bool wait(const std::function<bool()> &done, const Deadline &deadline);
    /// From now on a thread looks at the Signal after each change, as long as streams wait for it.
    void watch(std::weak_ptr<Signal> signal);

private:
    struct Header;

    explicit SharedEvents(std::shared_ptr<MemoryFile> file); // maps it
    Header &header() const { return *static_cast<Header *>(memory_); }
    void sleep(uint32_t seen, const Deadline &deadline) const;
    void start_watcher();
    void watch_changes() noexcept;
    bool look();

    const std::shared_ptr<MemoryFile> file_;
    void *const memory_;
    uint32_t count_ = 0, flags_ = 0; // copies: other processes can write into the memory

    std::mutex mutex_;
    std::list<std::weak_ptr<Signal>> watched_;
    pid_t watcher_of_ = 0; // the process whose thread watches; none in a child of fork()
};

} // namespace ze_cpu
