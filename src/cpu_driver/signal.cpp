// SPDX-License-Identifier: Apache-2.0
#include "signal.h"

#include <atomic>
#include <condition_variable>
#include <thread>

#include "runtime.h"

namespace ze_cpu {
namespace {

/// One condition variable for all Signals. Only waits for a Signal that nothing will signal yet come here,
/// which is rare, so sharing costs little and lets one thread wait for "any of these, or stop".
struct Monitor {
    std::mutex mutex;
    std::condition_variable changed;
    std::atomic<int> waiting{0};
};
Monitor &monitor() {
    static Monitor *leaked = new Monitor; // threads may still wait on it at process exit
    return *leaked;
}

cl::Int execution_status(cl::Event event) {
    cl::Int status = 1;
    if (opencl().clGetEventInfo(event, cl::event_command_execution_status, sizeof status, &status, nullptr) !=
        cl::success)
        return -1;
    return status;
}

} // namespace

Deadline::Deadline(uint64_t timeout_ns) : forever_(timeout_ns == UINT64_MAX) {
    // Anything above a century would overflow the clock's count and is as good as for ever.
    constexpr uint64_t century = 100ull * 366 * 24 * 3600 * 1000000000ull;
    if (timeout_ns > century)
        forever_ = true;
    at_ = std::chrono::steady_clock::now();
    if (!forever_)
        at_ += std::chrono::nanoseconds(timeout_ns);
}

ze_result_t wait_for(cl::Event event, const Deadline &deadline) {
    if (deadline.forever()) {
        // Negative results also say that the command failed; the status tells which.
        opencl().clWaitForEvents(1, &event);
        return execution_status(event) < 0 ? ZE_RESULT_ERROR_DEVICE_LOST : ZE_RESULT_SUCCESS;
    }
    // OpenCL has no wait with a time limit: look often at first, then every 50 us.
    for (int round = 0;; round++) {
        cl::Int status = execution_status(event);
        if (status <= cl::complete)
            return status < 0 ? ZE_RESULT_ERROR_DEVICE_LOST : ZE_RESULT_SUCCESS;
        if (deadline.passed())
            return ZE_RESULT_NOT_READY;
        if (round < 100)
            std::this_thread::yield();
        else
            std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
}

Signal::~Signal() {
    drop_producer();
}

void Signal::drop_producer() {
    if (producer_)
        opencl().clReleaseEvent(producer_);
    producer_ = nullptr;
    queue_ = nullptr;
}

void Signal::wake_all() {
    Monitor &m = monitor();
    // A read-modify-write, so that it is ordered with the one in wait_until: either we see its count, or it
    // sees the state that we changed.
    if (m.waiting.fetch_add(0) == 0)
        return;
    { std::lock_guard lock(m.mutex); }
    m.changed.notify_all();
}

bool Signal::wait_until(const std::function<bool()> &done, const Deadline &deadline) {
    if (done())
        return true;
    Monitor &m = monitor();
    m.waiting.fetch_add(1);
    bool result = true;
    {
        std::unique_lock lock(m.mutex);
        while (!done()) {
            if (deadline.forever()) {
                m.changed.wait(lock);
            } else if (m.changed.wait_until(lock, deadline.at()) == std::cv_status::timeout) {
                result = done();
                break;
            }
        }
    }
    m.waiting.fetch_sub(1);
    return result;
}

void Signal::set_by_host() {
    {
        std::lock_guard lock(mutex_);
        drop_producer();
        set_ = true;
        failed_ = false;
        host_time_ = timestamp_now();
    }
    wake_all();
}

void Signal::set_failed() {
    {
        std::lock_guard lock(mutex_);
        drop_producer();
        set_ = true;
        failed_ = true;
    }
    wake_all();
}

void Signal::set_pending(cl::Event producer, cl::Queue queue) {
    opencl().clRetainEvent(producer);
    {
        std::lock_guard lock(mutex_);
        drop_producer();
        producer_ = producer;
        queue_ = queue;
        set_ = false;
        failed_ = false;
    }
    wake_all();
}

void Signal::reset() {
    std::lock_guard lock(mutex_);
    drop_producer();
    set_ = false;
    failed_ = false;
}

bool Signal::is_clear() {
    std::lock_guard lock(mutex_);
    return !set_ && !producer_;
}

ze_result_t Signal::status_locked() {
    if (!set_ && producer_) {
        cl::Int status = execution_status(producer_);
        set_ = status <= cl::complete;
        failed_ = status < 0;
    }
    if (!set_)
        return ZE_RESULT_NOT_READY;
    return failed_ ? ZE_RESULT_ERROR_DEVICE_LOST : ZE_RESULT_SUCCESS;
}

bool Signal::ready_for(cl::Queue queue, cl::Event &producer) {
    std::lock_guard lock(mutex_);
    if (!set_ && !producer_)
        return false;
    if (producer_ && queue_ != queue && status_locked() == ZE_RESULT_NOT_READY) {
        opencl().clRetainEvent(producer_);
        producer = producer_;
    }
    return true;
}

ze_result_t Signal::status() {
    std::lock_guard lock(mutex_);
    return status_locked();
}

ze_result_t Signal::wait(const Deadline &deadline) {
    for (;;) {
        cl::Event producer = nullptr;
        {
            std::lock_guard lock(mutex_);
            ze_result_t now = status_locked();
            if (now != ZE_RESULT_NOT_READY || deadline.passed())
                return now;
            if (producer_) {
                opencl().clRetainEvent(producer_);
                producer = producer_;
            }
        }
        if (producer) {
            ze_result_t result = wait_for(producer, deadline);
            opencl().clReleaseEvent(producer);
            return result;
        }
        if (!wait_until([this] { return !is_clear(); }, deadline))
            return ZE_RESULT_NOT_READY;
    }
}

ze_result_t Signal::timestamps(ze_kernel_timestamp_result_t &result) {
    std::lock_guard lock(mutex_);
    ze_result_t now = status_locked();
    if (now != ZE_RESULT_SUCCESS)
        return now;
    uint64_t start = host_time_, end = host_time_;
    if (producer_) {
        const cl::Api &api = opencl();
        if (api.clGetEventProfilingInfo(producer_, cl::profiling_command_start, sizeof start, &start,
                                        nullptr) != cl::success ||
            api.clGetEventProfilingInfo(producer_, cl::profiling_command_end, sizeof end, &end, nullptr) !=
                cl::success)
            return ZE_RESULT_NOT_READY;
    }
    result.global = {start, end};
    result.context = {start, end};
    return ZE_RESULT_SUCCESS;
}

} // namespace ze_cpu
