// SPDX-License-Identifier: Apache-2.0
//
// The state behind an event or a fence. A Signal is clear or set, and beside that it knows its producers:
// commands in OpenCL queues that will set it, each by its OpenCL event, whose completion is the signal. A
// Signal stays set until it is reset, also while a producer is about to set it again; a reset does not take
// away what a producer has yet to do. The state of an event that processes share is in memory that they
// share; its producers are this process's.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include <level_zero/ze_api.h>

#include "opencl_event.h"
#include "shared_events.h"
#include "waiter.h"

namespace ze_cpu {

/// Point in time until which a call may wait; Level Zero's UINT64_MAX means for ever.
class Deadline {
public:
    explicit Deadline(uint64_t timeout_ns);
    bool forever() const { return forever_; }
    bool passed() const { return !forever_ && std::chrono::steady_clock::now() >= at_; }
    std::chrono::steady_clock::time_point at() const { return at_; }

private:
    bool forever_;
    std::chrono::steady_clock::time_point at_;
};

/// Waits for the OpenCL event: SUCCESS, NOT_READY when the time is over, DEVICE_LOST if the command failed.
ze_result_t wait_for(cl::Event event, const Deadline &deadline);

class Signal : public std::enable_shared_from_this<Signal> {
public:
    Signal() = default;
    Signal(std::shared_ptr<SharedEvents> events, uint32_t index);
    ~Signal();
    Signal(const Signal &) = delete;
    Signal &operator=(const Signal &) = delete;

    struct Producer {
        OpenClEvent event;
        cl::Queue queue = nullptr;
    };
    /// A list of one producer, made before its command is enqueued, so that nothing is allocated after that.
    using NewProducer = std::list<Producer>;

    void set_by_host();
    void set_failed(); // the command that was to signal could not be started
    void add_producer(NewProducer &&producer) noexcept;
    void reset();
    void start_anew(); // forgets its producers, too: only those to come count

    /// True if what waits for the Signal may be given to the OpenCL queue now: it is set, or it has a
    /// producer. Then `producer` is what to wait for in the queue; none where the in-order queue holds the
    /// producer itself. False if it is clear and nothing is about to set it: `waiter` is resumed when that
    /// changes.
    bool ready_for(cl::Queue queue, const std::shared_ptr<Waiter> &waiter, OpenClEvent &producer);

    ze_result_t status(); // SUCCESS or NOT_READY, DEVICE_LOST if a producer failed
    ze_result_t wait(const Deadline &deadline);
    ze_result_t timestamps(ze_kernel_timestamp_result_t &result); // of the last signal; NOT_READY while clear

    /// Other processes see a producer's completion when somebody here asks for the status: its queue does.
    bool is_shared() const { return shared_ != nullptr; }
    /// After another process may have set it: resumes who waits for that. False if nobody waits any more.
    bool look_at_state();

private:
    bool is_clear();
    bool is_set() const { return state_->value.load() != EventState::clear; }
    void clear();
    void complete(Producer &producer, bool failed);
    ze_result_t status_locked();
    void wake_waiters(std::unique_lock<std::mutex> lock) noexcept;
    void stop_being_clear(std::unique_lock<std::mutex> lock) noexcept;

    std::mutex mutex_;
    std::list<Producer> producers_; // not seen complete; those of one queue in its order
    OpenClEvent last_;              // the producer that set it last, if it holds the timestamps
    EventState own_;
    EventState *state_ = &own_;
    const std::shared_ptr<SharedEvents> shared_; // null: the state is its own
    bool watched_ = false;                       // by shared_
    std::vector<std::weak_ptr<Waiter>> waiters_;
};

using SignalPtr = std::shared_ptr<Signal>;

} // namespace ze_cpu
