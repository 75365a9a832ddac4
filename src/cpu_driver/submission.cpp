// SPDX-License-Identifier: Apache-2.0
#include "submission.h"

#include <set>
#include <utility>

#include "runtime.h"

namespace ze_cpu {
namespace {

struct Registry {
    std::mutex mutex;
    std::set<Submission *> all;
};
Registry &registry() {
    static Registry *leaked = new Registry; // queues may be destroyed by other libraries' static destructors
    return *leaked;
}

/// The OpenCL events that a command has to wait for, released at the end of the scope.
class WaitList {
public:
    ~WaitList() {
        for (cl::Event event : events_)
            opencl().clReleaseEvent(event);
    }
    void add(cl::Event event) { events_.push_back(event); }
    cl::Uint count() const { return cl::Uint(events_.size()); }
    const cl::Event *data() const { return events_.empty() ? nullptr : events_.data(); }

private:
    std::vector<cl::Event> events_;
};

} // namespace

Submission::Submission() {
    Runtime &r = runtime();
    // Profiling costs nothing measurable on this runtime (2 us a launch with and without), and lists do not
    // know which events will be asked for timestamps.
    const cl::Ulong properties[] = {cl::queue_properties, cl::queue_profiling_enable, 0};
    cl::Int status = cl::success;
    queue_ = r.api.clCreateCommandQueueWithProperties(r.context, r.device, properties, &status);
    if (!queue_)
        throw from_opencl(status);
    std::lock_guard lock(registry().mutex);
    registry().all.insert(this);
}

Submission::~Submission() {
    {
        std::lock_guard lock(registry().mutex);
        registry().all.erase(this);
    }
    {
        std::lock_guard lock(mutex_);
        stop_ = true; // what waits for an event that was never signalled is dropped
    }
    changed_.notify_all();
    Signal::wake_all();
    if (thread_.joinable())
        thread_.join();
    opencl().clFinish(queue_);
    opencl().clReleaseCommandQueue(queue_);
}

/// False if a wait event is still clear (or the queue must drain first): the backlog's thread has to do it.
bool Submission::try_enqueue(Command &command, ze_result_t &result) {
    result = ZE_RESULT_SUCCESS;
    WaitList waits;
    for (const SignalPtr &signal : command.wait_signals) {
        cl::Event producer = nullptr;
        if (!signal->ready_for(queue_, producer))
            return false;
        if (producer)
            waits.add(producer);
    }
    if (command.runs_on_host()) {
        if (busy_ || waits.count())
            return false;
        command.run_on_host();
        return true;
    }
    if (!command.has_work() && !command.signal && waits.count() == 0)
        return true;
    cl::Event event = nullptr;
    cl::Int status = command.enqueue(queue_, waits.count(), waits.data(), command.signal ? &event : nullptr);
    if (status != cl::success) {
        if (command.signal)
            command.signal->set_failed(); // or who waits for it would do so for ever
        result = from_opencl(status);
        return true;
    }
    busy_ = true;
    enqueued_++;
    // Flushed before others can learn of the event: they may wait for it from another queue.
    opencl().clFlush(queue_);
    if (event) {
        command.signal->set_pending(event, queue_);
        opencl().clReleaseEvent(event);
    }
    return true;
}

ze_result_t Submission::submit(const CommandPtr *commands, size_t count) {
    std::lock_guard lock(mutex_);
    size_t at = 0;
    for (; at < count && backlog_.empty(); at++) {
        ze_result_t result = ZE_RESULT_SUCCESS;
        if (!try_enqueue(*commands[at], result))
            break;
        if (result != ZE_RESULT_SUCCESS)
            return result;
    }
    if (at == count)
        return ZE_RESULT_SUCCESS;
    backlog_.insert(backlog_.end(), commands + at, commands + count);
    if (!thread_.joinable())
        thread_ = std::thread([this] { drain_backlog(); });
    changed_.notify_all();
    return ZE_RESULT_SUCCESS;
}

void Submission::drain_backlog() {
    std::unique_lock lock(mutex_);
    for (;;) {
        changed_.wait(lock, [this] { return stop_.load() || !backlog_.empty(); });
        if (stop_)
            return;
        CommandPtr command = backlog_.front();
        ze_result_t result = ZE_RESULT_SUCCESS;
        if (try_enqueue(*command, result)) {
            if (result != ZE_RESULT_SUCCESS && error_ == ZE_RESULT_SUCCESS)
                error_ = result;
            backlog_.pop_front();
            if (backlog_.empty())
                changed_.notify_all();
            continue;
        }
        // Wait without the lock, so that appending goes on; nobody else takes from the backlog.
        lock.unlock();
        auto none_clear = [&] {
            for (const SignalPtr &signal : command->wait_signals)
                if (signal->is_clear())
                    return false;
            return true;
        };
        // No lock of ours in here: it is called with the one of all Signals held, which signalling takes
        // last.
        Signal::wait_until([&] { return stop_ || none_clear(); }, Deadline(UINT64_MAX));
        if (command->runs_on_host()) {
            for (const SignalPtr &signal : command->wait_signals)
                if (!stop_)
                    signal->wait(Deadline(UINT64_MAX));
            opencl().clFinish(queue_);
        }
        lock.lock();
        if (command->runs_on_host())
            busy_ = false; // only this thread enqueues while there is a backlog
    }
}

ze_result_t Submission::synchronize(const Deadline &deadline) {
    cl::Event marker = nullptr;
    uint64_t seen = 0;
    {
        std::unique_lock lock(mutex_);
        auto drained = [this] { return backlog_.empty(); };
        if (deadline.forever())
            changed_.wait(lock, drained);
        else if (!changed_.wait_until(lock, deadline.at(), drained))
            return ZE_RESULT_NOT_READY;
        if (error_ != ZE_RESULT_SUCCESS)
            return std::exchange(error_, ZE_RESULT_SUCCESS);
        if (!busy_)
            return ZE_RESULT_SUCCESS;
        seen = enqueued_;
        if (!deadline.forever()) {
            cl::Int status = opencl().clEnqueueMarkerWithWaitList(queue_, 0, nullptr, &marker);
            if (status != cl::success)
                return from_opencl(status);
            opencl().clFlush(queue_);
        }
    }
    ze_result_t result = ZE_RESULT_SUCCESS;
    if (marker) {
        result = wait_for(marker, deadline);
        opencl().clReleaseEvent(marker);
    } else {
        result = from_opencl(opencl().clFinish(queue_));
    }
    if (result == ZE_RESULT_SUCCESS) {
        std::lock_guard lock(mutex_);
        if (enqueued_ == seen)
            busy_ = false;
    }
    return result;
}

ze_result_t synchronize_all() {
    // Holding the registry keeps the streams alive; creating and destroying others waits meanwhile.
    std::lock_guard lock(registry().mutex);
    for (Submission *submission : registry().all)
        if (ze_result_t result = submission->synchronize(Deadline(UINT64_MAX)); result != ZE_RESULT_SUCCESS)
            return result;
    return ZE_RESULT_SUCCESS;
}

} // namespace ze_cpu
