// SPDX-License-Identifier: Apache-2.0
#include "signal_state.h"

#include <algorithm>
#include <thread>

#include "host_wait.h"
#include "process/fork_gate.h"
#include "process/handover.h"

namespace ze_cpu {
namespace {

cl::Int execution_status(cl::Event event) {
    cl::Int status = 1;
    if (opencl().clGetEventInfo(event, cl::event_command_execution_status, sizeof status, &status, nullptr) !=
        cl::success)
        return -1;
    if (status <= cl::complete)
        take_over();
    return status;
}

constexpr size_t least_looked_at = 16; // producers

struct Times {
    uint64_t start = 0, end = 0;
};

/// Reads the profiling times of a command. False if the runtime does not have them.
bool read_times(cl::Event event, Times &to) {
    const cl::Api &api = opencl();
    return api.clGetEventProfilingInfo(event, cl::profiling_command_start, sizeof to.start, &to.start,
                                       nullptr) == cl::success &&
           api.clGetEventProfilingInfo(event, cl::profiling_command_end, sizeof to.end, &to.end, nullptr) ==
               cl::success;
}

} // namespace

ze_result_t wait_for(cl::Event event, const Deadline &deadline) {
    if (deadline.forever()) {
        // clWaitForEvents also returns an error if the command failed, so the status decides.
        opencl().clWaitForEvents(1, &event);
        ForkGate::check_still_open();
        return execution_status(event) < 0 ? ZE_RESULT_ERROR_DEVICE_LOST : ZE_RESULT_SUCCESS;
    }
    // OpenCL has no wait with a time limit: look often at first, then every 50 us.
    for (int round = 0;; round++) {
        cl::Int status = execution_status(event);
        if (status <= cl::complete)
            return status < 0 ? ZE_RESULT_ERROR_DEVICE_LOST : ZE_RESULT_SUCCESS;
        if (deadline.passed())
            return ZE_RESULT_NOT_READY;
        ForkGate::check_still_open();
        if (round < 100)
            std::this_thread::yield();
        else
            std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
}

Signal::Signal(std::shared_ptr<SharedEvents> events, uint32_t index)
    : state_(&events->state(index)), shared_(std::move(events)) {}

Signal::~Signal() {
    if (watched_)
        shared_->wake(); // the watcher notices that the Signal is gone
}

void Signal::wake_waiters(std::unique_lock<std::mutex> lock) noexcept {
    const std::vector<std::weak_ptr<Waiter>> waiters = std::exchange(waiters_, {});
    lock.unlock();
    const Resumption resumption;
    for (const auto &waiter : waiters)
        if (std::shared_ptr<Waiter> alive = waiter.lock())
            Resumption::note(std::move(alive));
    wake_hosts();
}

void Signal::stop_being_clear(std::unique_lock<std::mutex> lock) noexcept {
    if (shared_)
        shared_->wake();
    wake_waiters(std::move(lock));
}

void Signal::clear() {
    last_ = {};
    state_->value.store(EventState::clear);
}

void Signal::set_by_host() {
    const uint64_t now = timestamp_now();
    set_by_host(now, now);
}

void Signal::set_by_host(uint64_t start, uint64_t end) {
    std::unique_lock lock(mutex_);
    last_ = {};
    state_->start = start;
    state_->end = end;
    state_->value = EventState::set;
    stop_being_clear(std::move(lock));
}

void Signal::set_failed() {
    std::unique_lock lock(mutex_);
    state_->value = EventState::failed;
    stop_being_clear(std::move(lock));
}

void Signal::add_producer(NewProducer &&producer) noexcept {
    std::unique_lock lock(mutex_);
    // Perhaps nobody ever asks for the state. So this looks at the producers when they have become
    // twice as many as were left the last time.
    if (producers_.size() > most_producers_) {
        status_locked();
        most_producers_ = std::max(least_looked_at, 2 * producers_.size());
    }
    producers_.splice(producers_.end(), producer);
    stop_being_clear(std::move(lock));
}

void Signal::reset() {
    std::lock_guard lock(mutex_);
    status_locked(); // producers that have completed signalled before the reset
    clear();
}

void Signal::start_anew() {
    std::list<Producer> forgotten;
    std::lock_guard lock(mutex_);
    producers_.swap(forgotten);
    clear();
}

void Signal::complete(Producer &producer, bool failed) {
    if (shared_) { // other processes cannot ask the producer
        Times times;
        read_times(producer.event.get(), times);
        state_->start = times.start;
        state_->end = times.end;
    } else {
        last_ = std::move(producer.event);
    }
    if (failed || state_->value != EventState::failed)
        state_->value = failed ? EventState::failed : EventState::set;
    if (shared_)
        shared_->wake();
}

ze_result_t Signal::status_locked() {
    for (auto at = producers_.begin(); at != producers_.end();) {
        const cl::Int status = execution_status(at->event.get());
        if (status > cl::complete) {
            ++at;
            continue;
        }
        complete(*at, status < 0);
        at = producers_.erase(at);
    }
    switch (state_->value) {
    case EventState::clear:
        return ZE_RESULT_NOT_READY;
    case EventState::failed:
        return ZE_RESULT_ERROR_DEVICE_LOST;
    default:
        return ZE_RESULT_SUCCESS;
    }
}

bool Signal::ready_for(cl::Queue queue, const std::shared_ptr<Waiter> &waiter, OpenClEvent &producer) {
    std::lock_guard lock(mutex_);
    if (is_set())
        return true;
    if (producers_.empty()) {
        auto is_waiter = [&](const std::weak_ptr<Waiter> &other) {
            return !other.owner_before(waiter) && !waiter.owner_before(other);
        };
        std::erase_if(waiters_, [](const std::weak_ptr<Waiter> &other) { return other.expired(); });
        if (std::find_if(waiters_.begin(), waiters_.end(), is_waiter) == waiters_.end())
            waiters_.push_back(waiter);
        if (shared_ && !(watched_ && watched_in_ == ForkGate::generation())) {
            shared_->watch(weak_from_this());
            watched_ = true;
            watched_in_ = ForkGate::generation();
        }
        return false;
    }
    // A producer in the same queue runs before the waiting command anyway. Of several others any
    // one will do, as each of them is bound to complete.
    auto is_here = [&](const Producer &p) { return p.queue == queue; };
    if (std::none_of(producers_.begin(), producers_.end(), is_here) && status_locked() == ZE_RESULT_NOT_READY)
        producer = producers_.front().event;
    return true;
}

bool Signal::is_clear() {
    std::lock_guard lock(mutex_);
    return !is_set() && producers_.empty();
}

bool Signal::look_at_state() {
    std::unique_lock lock(mutex_);
    std::erase_if(waiters_, [](const std::weak_ptr<Waiter> &waiter) { return waiter.expired(); });
    if (!is_set() && producers_.empty() && !waiters_.empty())
        return true;
    watched_ = false;
    wake_waiters(std::move(lock));
    return false;
}

ze_result_t Signal::status() {
    std::lock_guard lock(mutex_);
    return status_locked();
}

ze_result_t Signal::wait(const Deadline &deadline) {
    for (;;) {
        OpenClEvent producer;
        {
            std::lock_guard lock(mutex_);
            ze_result_t now = status_locked();
            if (now != ZE_RESULT_NOT_READY || deadline.passed())
                return now;
            if (!producers_.empty())
                producer = producers_.front().event;
        }
        // The Signal may be reset again before its state is read, so the completion of the producer
        // counts.
        if (producer) {
            const ze_result_t result = wait_for(producer.get(), deadline);
            if (shared_)
                status(); // as others may ask as soon as this returns
            return result;
        }
        auto is_over = [this] { return !is_clear(); };
        if (!(shared_ ? shared_->wait(is_over, deadline) : host_wait(is_over, deadline)))
            return ZE_RESULT_NOT_READY;
    }
}

ze_result_t Signal::timestamps(ze_kernel_timestamp_result_t &result) {
    std::lock_guard lock(mutex_);
    ze_result_t now = status_locked();
    if (now != ZE_RESULT_SUCCESS)
        return now;
    Times times{state_->start, state_->end};
    if (last_ && !read_times(last_.get(), times))
        return ZE_RESULT_NOT_READY;
    result.global = {times.start, times.end};
    result.context = {times.start, times.end};
    return ZE_RESULT_SUCCESS;
}

} // namespace ze_cpu
