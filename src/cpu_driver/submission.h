// SPDX-License-Identifier: Apache-2.0
//
// An in-order stream of commands, behind a command queue or an immediate list.
//
// A command whose wait events are all signalled, or will be by something already in an OpenCL queue, is
// enqueued by the calling thread: that is the fast path, and nothing here blocks. A command that waits for an
// event which nothing will signal yet (the host may, or a list not yet executed), or that follows a step, and
// whatever comes after it, goes to a backlog. The thread that signals the event, or runs the step, enqueues
// what it can of the backlog. So all that is in OpenCL queues is bound to complete, streams never wait for
// each other's threads, and an event is looked at when its turn comes, not when the wait was appended.
#pragma once

#include <atomic>
#include <list>
#include <mutex>
#include <span>
#include <vector>

#include "command.h"

namespace ze_cpu {

class Submission final : public Waiter, public std::enable_shared_from_this<Submission> {
public:
    Submission(); // throws ze_result_t if OpenCL refuses a queue; to be owned by an OwnedSubmission
    ~Submission() override;
    Submission(const Submission &) = delete;
    Submission &operator=(const Submission &) = delete;

    /// Submits in order; the commands have begun when this returns, unless something must be waited for.
    /// After an error none of those that could not begin will.
    ze_result_t submit(std::span<const CommandPtr> commands);

    /// Waits until all that was submitted before has finished, and takes the error of what could not begin
    /// later.
    ze_result_t synchronize(const Deadline &deadline);
    /// The same, but leaves the error to who synchronizes the stream.
    ze_result_t wait(const Deadline &deadline);

    /// Waits for what is in the OpenCL queue. False if the deadline passed first.
    bool finish_queue(const Deadline &deadline);
    uint64_t enqueued_count();

    /// Drops what has not begun and waits for the rest. Nothing begins afterwards.
    void close();

    /// Waits until nothing of this stream runs. What is submitted from now on begins after `unpause`.
    void pause();
    void unpause();

private:
    struct RunningStep;

    void resume() noexcept override;
    // With mutex_ held:
    bool try_enqueue(const CommandPtr &command);
    void enqueue_publication(const SignalPtr &signal);
    void enqueue_step(const CommandPtr &command, const class WaitList &waits);
    ze_result_t enqueue_front(bool &can_go_on);
    ze_result_t advance();
    void go_on();
    void start();
    bool may_enqueue() const { return !closed_ && !step_running_ && pauses_ == 0; }
    bool is_drained() const { return !step_running_ && followers_.empty() && backlog_.empty(); }

    cl::Queue queue_ = nullptr;
    std::mutex mutex_;
    std::list<CommandPtr> backlog_;
    bool closed_ = false;
    int pauses_ = 0;
    bool busy_ = false; // enqueued since the last time that the queue was seen empty
    uint64_t enqueued_ = 0;
    OpenClEvent marker_; // behind the command marker_after_, for waits with a time limit
    uint64_t marker_after_ = 0;
    ze_result_t error_ = ZE_RESULT_SUCCESS; // first error of a command of the backlog

    // A step has no lock: the runtime might run it within the enqueueing.
    std::atomic<bool> step_running_{false};
    std::vector<CommandPtr> followers_;          // of the last step; the step's while it runs
    ze_result_t step_error_ = ZE_RESULT_SUCCESS; // likewise
};

/// The handle of a Submission in a queue or list: closes it.
class OwnedSubmission {
public:
    OwnedSubmission() = default;
    static OwnedSubmission make();
    OwnedSubmission(OwnedSubmission &&other) noexcept = default;
    OwnedSubmission &operator=(OwnedSubmission &&other) noexcept {
        std::swap(submission_, other.submission_);
        return *this;
    }
    ~OwnedSubmission() {
        if (submission_)
            submission_->close();
    }
    explicit operator bool() const { return submission_ != nullptr; }
    Submission *operator->() const { return submission_.get(); }

private:
    std::shared_ptr<Submission> submission_;
};

} // namespace ze_cpu
