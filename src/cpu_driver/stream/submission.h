// SPDX-License-Identifier: Apache-2.0
//
// An in-order stream of commands, behind a command queue or an immediate list.
//
// The fast path: if all wait events of a command are signalled, or will be by a command that is
// already in an OpenCL queue, the calling thread enqueues the command. Nothing blocks.
//
// Otherwise the command and all commands after it go to a backlog. That happens if the command
// waits for an event that nothing is about to signal (the host may signal it later, or a list that
// is not executed yet), or if it follows a step. The thread that signals the event or runs the step
// then enqueues what it can of the backlog.
//
// So every command in an OpenCL queue is bound to complete, and no stream waits for the thread of
// another. The state of an event is read when the turn of the wait comes, not when the wait is
// appended.
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

    /// Submits the commands in order. They have begun when this returns, unless something must be
    /// waited for. If it returns an error, the command that failed and those after it never begin.
    ze_result_t submit(std::span<const CommandPtr> commands);

    /// Runs the command on this thread and returns true if nothing is before it, and either others can help
    /// (crew.h) or one thread may do all of its work. Waking the runtime's threads would take longer than
    /// many a small kernel.
    bool run_here(Command &command, const Threadpool *pool);

    /// Waits until everything submitted before has finished. Returns the first error of a command
    /// that could not be enqueued from the backlog, and forgets it.
    ze_result_t synchronize(const Deadline &deadline);
    /// Waits, but leaves the error to the next synchronize().
    ze_result_t wait(const Deadline &deadline);

    /// Waits until the OpenCL queue is empty. Returns false if the deadline passes first.
    bool finish_queue(const Deadline &deadline);
    uint64_t enqueued_count(); // commands so far

    /// Drops the commands that have not begun and waits for the others. Nothing begins afterwards.
    void close();

    /// Waits until no command of this stream runs. Commands that are submitted from now on begin
    /// after unpause().
    void pause();
    void unpause();

private:
    struct RunningStep;

    void resume() noexcept override;
    // These need mutex_ to be held:
    bool try_enqueue(const CommandPtr &command);
    void enqueue_publication(const SignalPtr &signal);
    void enqueue_step(const CommandPtr &command, const class WaitList &waits);
    ze_result_t enqueue_front(bool &can_go_on);
    ze_result_t advance();
    void go_on();
    void start(OpenClEvent event);
    bool may_enqueue() const { return !closed_ && !step_running_ && pauses_ == 0; }
    bool is_drained() const { return !step_running_ && followers_.empty() && backlog_.empty(); }

    cl::Queue queue_ = nullptr;
    cl::Queue own_thread_queue_ = nullptr; // of run_here(), which makes it
    bool has_own_thread_queue_ = true;     // false once the runtime has refused it
    std::mutex mutex_;
    std::list<CommandPtr> backlog_;
    bool closed_ = false;
    int pauses_ = 0;
    bool busy_ = false; // enqueued since the last time that the queue was seen empty
    uint64_t enqueued_ = 0;
    // Of the command that was enqueued last, which waits are for. clFinish() would enqueue a command of its
    // own, which has to wake a thread once more.
    OpenClEvent last_;
    ze_result_t error_ = ZE_RESULT_SUCCESS; // first error of a command of the backlog

    // A step runs without mutex_, because the runtime may run it inside the call that enqueues it.
    std::atomic<bool> step_running_{false};
    std::vector<CommandPtr> followers_;          // of the last step, which owns them while it runs
    ze_result_t step_error_ = ZE_RESULT_SUCCESS; // its error, likewise
};

/// Owns the Submission of a queue or list, and closes it in the end.
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
    /// A call of the Submission keeps it alive, because another thread may destroy the owner meanwhile.
    std::shared_ptr<Submission> operator->() const { return submission_; }

private:
    std::shared_ptr<Submission> submission_;
};

} // namespace ze_cpu
