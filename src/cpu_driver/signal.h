// SPDX-License-Identifier: Apache-2.0
//
// The state behind an event or a fence. A Signal is in one of three states:
//   clear    nothing has signalled it since the last reset;
//   pending  a command that will signal it is in an OpenCL queue: `producer` is that command's OpenCL event,
//   and
//            its completion is the signal, with no callback needed;
//   set      the host signalled it, or the producer has completed.
// The producer is kept after completion because it holds the kernel timestamps.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>

#include <level_zero/ze_api.h>

#include "opencl_api.h"

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

class Signal {
public:
    ~Signal();

    void set_by_host();
    void set_failed(); // the command that was to signal could not be started
    void set_pending(cl::Event producer, cl::Queue queue); // takes a reference of its own
    void reset();

    /// True if the Signal is not clear: what waits for it may be given to OpenCL now. If it is still pending
    /// in a queue other than `queue`, `producer` receives a reference that the caller must release; an
    /// in-order queue needs no event to wait for what it holds itself.
    bool ready_for(cl::Queue queue, cl::Event &producer);
    bool is_clear();

    ze_result_t status(); // SUCCESS or NOT_READY, DEVICE_LOST if the producer failed
    ze_result_t wait(const Deadline &deadline);
    ze_result_t timestamps(ze_kernel_timestamp_result_t &result); // NOT_READY before completion

    /// Blocks until `done()`; it is asked again whenever any Signal stops being clear, and after `wake_all`.
    /// False if the deadline passed first.
    static bool wait_until(const std::function<bool()> &done, const Deadline &deadline);
    static void wake_all();

private:
    ze_result_t status_locked();
    void drop_producer();

    std::mutex mutex_;
    cl::Event producer_ = nullptr;
    cl::Queue queue_ = nullptr;
    bool set_ = false;
    bool failed_ = false;
    uint64_t host_time_ = 0;
};

using SignalPtr = std::shared_ptr<Signal>;

} // namespace ze_cpu
