// SPDX-License-Identifier: Apache-2.0
//
// The state behind an event or a fence. A Signal is clear or set. It also knows its producers:
// commands in OpenCL queues that will set it. A producer is known by its OpenCL event, whose
// completion sets the Signal. A Signal stays set until it is reset, also while a producer is about
// to set it again. A reset does not remove producers that are still to complete. If processes share
// an event, its state is in memory that they share, but its producers are those of this process.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include <level_zero/ze_api.h>

#include "opencl/opencl_event.h"
#include "process/deadline.h"
#include "shared_events.h"
#include "waiter.h"

namespace ze_cpu {

/// Waits for an OpenCL event. Returns SUCCESS, NOT_READY if the deadline passes first, or
/// DEVICE_LOST if the command failed. Throws ZE_RESULT_ERROR_UNINITIALIZED if another thread ends the
/// process.
ze_result_t wait_for(cl::Event event, const Deadline &deadline);

class Signal final : public Watched, public std::enable_shared_from_this<Signal> {
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
    /// A list with one producer. It is made before the command is enqueued, so that nothing has to
    /// be allocated afterwards.
    using NewProducer = std::list<Producer>;

    void set_by_host();
    void set_by_host(uint64_t start, uint64_t end); // of what the host has done, as its timestamps
    void set_failed();                              // the command that was to signal could not be started
    void add_producer(NewProducer &&producer) noexcept;
    void reset();
    void start_anew(); // resets it and forgets its producers: only later ones count

    /// True if a command that waits for the Signal may be enqueued now: the Signal is set, or has a
    /// producer. `producer` is then the event to wait for in the queue. It is empty if no wait is
    /// needed, for example because the in-order queue itself contains the producer. False if the
    /// Signal is clear and nothing is about to set it: `waiter` is resumed when that changes.
    bool ready_for(cl::Queue queue, const std::shared_ptr<Waiter> &waiter, OpenClEvent &producer);

    ze_result_t status(); // SUCCESS or NOT_READY, DEVICE_LOST if a producer failed
    ze_result_t wait(const Deadline &deadline);
    ze_result_t timestamps(ze_kernel_timestamp_result_t &result); // of the last signal; NOT_READY while clear

    /// Whether processes share the state. Others see that a producer has completed only after this
    /// process has called status(), so the producer's queue does that.
    bool is_shared() const { return shared_ != nullptr; }
    /// To be called after another process may have set the Signal. Resumes the waiters if it is
    /// set. Returns false if nobody waits any more.
    bool look_at_state() override;

private:
    bool is_clear();
    bool is_set() const { return state_->value.load() != EventState::clear; }
    void clear();
    void complete(Producer &producer, bool failed);
    ze_result_t status_locked();
    void wake_waiters(std::unique_lock<std::mutex> lock) noexcept;
    void stop_being_clear(std::unique_lock<std::mutex> lock) noexcept;

    std::mutex mutex_;
    std::list<Producer> producers_; // not yet seen complete; in the order of their queue
    size_t most_producers_ = 0;     // with more, the next add_producer() removes the complete ones
    OpenClEvent last_;              // the producer that set it last, if it holds the timestamps
    EventState own_;
    EventState *state_ = &own_;
    const std::shared_ptr<SharedEvents> shared_; // null: the Signal has its own state
    bool watched_ = false;                       // shared_ watches the Signal
    unsigned watched_in_ = 0;                    // the process in which it does, by ForkGate::generation()
    std::vector<std::weak_ptr<Waiter>> waiters_;
};

using SignalPtr = std::shared_ptr<Signal>;

} // namespace ze_cpu
