// SPDX-License-Identifier: Apache-2.0
#include "submission.h"

#include <algorithm>
#include <cfenv>
#include <new>
#include <utility>

#include "border/border.h"
#include "default_floats.h"
#include "event/host_wait.h"
#include "process/fork_gate.h"
#include "process/handover.h"
#include "registry.h"

namespace ze_cpu {
namespace {

/// Runs everything in the queue, on this thread. One thread at a time does so, because the runtime may
/// not be prepared for a second one.
void finish_in_child(cl::Queue queue) {
    static std::mutex &running = *new std::mutex;
    std::lock_guard lock(running);
    opencl().clFinish(queue);
}

} // namespace

// Profiling is always on. It costs nothing measurable on this runtime (2 us a launch with and without), and a
// list does not know which events will be asked for timestamps.
cl::Queue make_queue(cl::Ulong more, cl::Int &status) {
    const cl::Ulong properties[] = {cl::queue_properties, cl::queue_profiling_enable | more, 0};
    return opencl().clCreateCommandQueueWithProperties(runtime().context, runtime().device, properties,
                                                       &status);
}

/// The OpenCL events that a command has to wait for.
class WaitList {
public:
    explicit WaitList(size_t most) {
        owned_.reserve(most);
        handles_.reserve(most);
    }
    void add(OpenClEvent event) {
        handles_.push_back(event.get());
        owned_.push_back(std::move(event));
    }
    cl::Uint count() const { return cl::Uint(handles_.size()); }
    const cl::Event *data() const { return handles_.empty() ? nullptr : handles_.data(); }

private:
    std::vector<OpenClEvent> owned_;
    std::vector<cl::Event> handles_;
};

/// The argument of a step in an OpenCL queue.
struct Submission::RunningStep {
    std::shared_ptr<Submission> stream;
    CommandPtr command;

    static void call(void *argument) {
        take_over();
        const std::unique_ptr<RunningStep> self(*static_cast<RunningStep **>(argument));
        Submission &stream = *self->stream;
        const Resumption resumption;
        try {
            stream.followers_ = self->command->as_step()->run();
        } catch (...) {
            stream.step_error_ = current_error();
        }
        if (stream.step_error_ != ZE_RESULT_SUCCESS && self->command->signal)
            self->command->signal->set_failed();
        stream.step_running_.store(false);
        Resumption::note(self->stream);
    }
};

Submission::Submission() {
    cl::Int status = cl::success;
    queue_ = make_queue(0, status);
    if (!queue_)
        throw from_opencl(status);
}

Submission::~Submission() {
    opencl().clReleaseCommandQueue(queue_);
    if (own_thread_queue_)
        opencl().clReleaseCommandQueue(own_thread_queue_);
}

OwnedSubmission OwnedSubmission::make() {
    OwnedSubmission result;
    result.submission_ = std::make_shared<Submission>();
    std::lock_guard lock(registry().mutex);
    registry().all.insert(result.submission_);
    return result;
}

void Submission::close() {
    std::list<CommandPtr> dropped; // an empty list, unlike a deque, allocates nothing
    {
        std::lock_guard lock(mutex_);
        closed_ = true;
        dropped.swap(backlog_);
    }
    wake_hosts();
    opencl().clFinish(queue_);
    take_over();
    std::lock_guard lock(registry().mutex);
    registry().all.erase(weak_from_this());
}

/// Puts a step into the queue, or runs it at once if nothing is before it.
void Submission::enqueue_step(const CommandPtr &command, const WaitList &waits) {
    auto argument = std::make_unique<RunningStep>(RunningStep{shared_from_this(), command});
    RunningStep *pointer = argument.get();
    step_running_.store(true);
    if (!busy_ && waits.count() == 0) {
        argument.release();
        RunningStep::call(&pointer);
        return;
    }
    hand_over();
    cl::Event event = nullptr;
    const cl::Int status =
        opencl().clEnqueueNativeKernel(queue_, &RunningStep::call, &pointer, sizeof pointer, 0, nullptr,
                                       nullptr, waits.count(), waits.data(), &event);
    if (status != cl::success) {
        step_running_.store(false);
        throw from_opencl(status);
    }
    argument.release();
    start(OpenClEvent(event));
}

/// Makes the queue itself tell other processes that the command before has finished.
void Submission::enqueue_publication(const SignalPtr &signal) {
    auto publication = std::make_shared<FunctionCommand>([signal] { signal->status(); });
    cl::Event event = nullptr;
    const cl::Int status = publication->enqueue(queue_, 0, nullptr, &event);
    if (status != cl::success)
        throw from_opencl(status);
    start(OpenClEvent(event));
}

/// Makes the runtime begin what was enqueued. event: of that command.
void Submission::start(OpenClEvent event) {
    busy_ = true;
    enqueued_++;
    last_ = std::move(event);
    if (ForkGate::is_child())
        finish_in_child(queue_);
    else
        opencl().clFlush(queue_);
}

/// Enqueues a command. Returns false if a wait event is still clear: the stream is then resumed
/// when that changes. Throws if the command cannot be enqueued.
bool Submission::try_enqueue(const CommandPtr &command) {
    WaitList waits(command->wait_signals.size());
    for (const SignalPtr &signal : command->wait_signals) {
        OpenClEvent producer;
        if (!signal->ready_for(queue_, shared_from_this(), producer))
            return false;
        if (producer)
            waits.add(std::move(producer));
    }
    if (command->as_step()) {
        enqueue_step(command, waits);
        return true;
    }
    if (!command->has_work() && !command->signal && waits.count() == 0)
        return true;
    Signal::NewProducer producer;
    if (command->signal)
        producer.emplace_back();
    cl::Event event = nullptr;
    const cl::Int status = command->enqueue(queue_, waits.count(), waits.data(), &event);
    if (status != cl::success)
        throw from_opencl(status);
    start(OpenClEvent(event)); // before others learn of the event and wait for it in another queue
    if (command->signal) {
        producer.front() = {last_, queue_};
        command->signal->add_producer(std::move(producer));
        if (command->signal->is_shared())
            enqueue_publication(command->signal);
    }
    return true;
}

/// Enqueues the first command of the backlog. The followers of the last step are put in front of
/// the backlog before. If the command fails, it is removed, its signal is set to failed so that
/// nobody waits for it for ever, and the error is returned.
ze_result_t Submission::enqueue_front(bool &can_go_on) {
    can_go_on = false;
    if (!may_enqueue())
        return ZE_RESULT_SUCCESS;
    if (step_error_ != ZE_RESULT_SUCCESS)
        return std::exchange(step_error_, ZE_RESULT_SUCCESS);
    CommandPtr command;
    try {
        backlog_.insert(backlog_.begin(), followers_.begin(), followers_.end());
        followers_.clear();
        if (backlog_.empty())
            return ZE_RESULT_SUCCESS;
        command = backlog_.front();
        if (!try_enqueue(command))
            return ZE_RESULT_SUCCESS;
        backlog_.pop_front();
        can_go_on = true;
        return ZE_RESULT_SUCCESS;
    } catch (...) {
        if (command) {
            backlog_.pop_front();
        } else { // no memory to put the followers before the rest
            command = followers_.back();
            followers_.clear();
        }
        if (command->signal)
            command->signal->set_failed();
        return current_error();
    }
}

/// Enqueues as much of the backlog as possible, up to the first error.
ze_result_t Submission::advance() {
    ze_result_t result = ZE_RESULT_SUCCESS;
    for (bool can_go_on = true; can_go_on && result == ZE_RESULT_SUCCESS;)
        result = enqueue_front(can_go_on);
    if (is_drained())
        wake_hosts();
    return result;
}

/// Enqueues as much of the backlog as possible, also after errors. Keeps the first error.
void Submission::go_on() {
    while (const ze_result_t result = advance())
        if (error_ == ZE_RESULT_SUCCESS)
            error_ = result;
}

void Submission::resume() noexcept {
    std::lock_guard lock(mutex_);
    go_on();
}

ze_result_t Submission::submit(std::span<const CommandPtr> commands) {
    const Resumption resumption; // acts after the lock is released
    std::lock_guard lock(mutex_);
    go_on(); // a step may have ended just now
    const bool is_first = is_drained() && pauses_ == 0;
    if (is_first && commands.size() == 1 && !commands[0]->as_step()) {
        try {
            if (try_enqueue(commands[0]))
                return ZE_RESULT_SUCCESS;
        } catch (...) {
            if (commands[0]->signal)
                commands[0]->signal->set_failed();
            throw;
        }
    }
    backlog_.insert(backlog_.end(), commands.begin(), commands.end());
    const ze_result_t result = is_first ? advance() : ZE_RESULT_SUCCESS;
    if (result != ZE_RESULT_SUCCESS)
        backlog_.clear(); // all of it comes from this call
    return result;
}

bool Submission::run_here(Command &command, const Threadpool *pool) {
    if (!command.wait_signals.empty() || ForkGate::is_child())
        return false;
    const Resumption resumption;  // acts after the lock is released
    std::lock_guard lock(mutex_); // so that pause() and close() wait for the kernel
    if (busy_ || !is_drained() || !may_enqueue())
        return false;
    const DefaultFloats floats;
    if (command.run_with_help(pool))
        return true;
    if (!command.is_for_one_thread() || !has_own_thread_queue_)
        return false;
    if (!own_thread_queue_) {
        cl::Int status = cl::success;
        own_thread_queue_ = make_queue(cl::queue_own_thread, status);
        has_own_thread_queue_ = own_thread_queue_ != nullptr;
        if (!has_own_thread_queue_)
            return false;
    }
    Signal::NewProducer producer;
    if (command.signal)
        producer.emplace_back();
    cl::Event event = nullptr;
    const cl::Int status = command.enqueue(own_thread_queue_, 0, nullptr, &event);
    if (status != cl::success)
        throw from_opencl(status);
    OpenClEvent done(event);
    opencl().clWaitForEvents(1, &event);
    take_over();
    if (!command.signal)
        return true;
    producer.front() = {std::move(done), own_thread_queue_};
    command.signal->add_producer(std::move(producer));
    if (command.signal->is_shared())
        command.signal->status(); // tells other processes
    return true;
}

ze_result_t Submission::wait(const Deadline &deadline) {
    auto is_over = [this] {
        std::lock_guard lock(mutex_);
        return closed_ || is_drained();
    };
    if (!host_wait(is_over, deadline))
        return ZE_RESULT_NOT_READY;
    uint64_t seen = 0;
    {
        std::lock_guard lock(mutex_);
        if (!busy_)
            return error_;
        seen = enqueued_;
    }
    if (!finish_queue(deadline))
        return ZE_RESULT_NOT_READY;
    ForkGate::check_still_open();
    std::lock_guard lock(mutex_);
    if (enqueued_ == seen) {
        busy_ = false;
        last_ = {};
    }
    return error_;
}

bool Submission::finish_queue(const Deadline &deadline) {
    if (ForkGate::is_child())
        return true; // what is enqueued has been run at once
    OpenClEvent last;
    {
        std::lock_guard lock(mutex_);
        last = last_;
    }
    if (!last)
        return true;
    if (!deadline.forever())
        return wait_for(last.get(), deadline) != ZE_RESULT_NOT_READY;
    cl::Event event = last.get();
    opencl().clWaitForEvents(1, &event); // an error is that of the command, which is over then, too
    take_over();
    return true;
}

uint64_t Submission::enqueued_count() {
    std::lock_guard lock(mutex_);
    return enqueued_;
}

ze_result_t Submission::synchronize(const Deadline &deadline) {
    const ze_result_t result = wait(deadline);
    std::lock_guard lock(mutex_);
    if (result == error_)
        error_ = ZE_RESULT_SUCCESS;
    return result;
}

void Submission::pause() {
    {
        std::lock_guard lock(mutex_);
        pauses_++;
    }
    finish_queue(Deadline(UINT64_MAX)); // without mutex_, which a step needs at its end
}

void Submission::unpause() {
    const Resumption resumption;
    std::lock_guard lock(mutex_);
    pauses_--;
    go_on();
}

} // namespace ze_cpu
