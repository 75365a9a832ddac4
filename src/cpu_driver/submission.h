// SPDX-License-Identifier: Apache-2.0
//
// An in-order stream of commands, behind a command queue or an immediate list.
//
// A command whose wait events are all signalled, or will be by something already in an OpenCL queue, is
// enqueued by the calling thread: that is the fast path, and nothing here blocks. A command that waits for an
// event which nothing will signal yet (the host may, or a list not yet executed), and whatever comes after
// it, goes to a backlog that a thread of this stream works off in order. So streams never wait for each
// other's threads, and an event is looked at when its turn comes, not when the wait was appended.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "command.h"

namespace ze_cpu {

class Submission {
public:
    Submission(); // throws ze_result_t if OpenCL refuses a queue
    ~Submission();
    Submission(const Submission &) = delete;
    Submission &operator=(const Submission &) = delete;

    /// Submits in order; the commands have begun when this returns, unless something must be waited for.
    ze_result_t submit(const CommandPtr *commands, size_t count);

    /// Waits until all that was submitted before has finished.
    ze_result_t synchronize(const Deadline &deadline);

private:
    bool try_enqueue(Command &command, ze_result_t &result); // with mutex_ held
    void drain_backlog();

    cl::Queue queue_ = nullptr;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<CommandPtr> backlog_; // front: the one that the thread is at
    std::thread thread_;
    std::atomic<bool> stop_{false};
    bool busy_ = false; // enqueued since the last time that the queue was seen empty
    uint64_t enqueued_ = 0;
    ze_result_t error_ = ZE_RESULT_SUCCESS; // first error of a command that was submitted from the backlog
};

/// Waits for all streams of the process.
ze_result_t synchronize_all();

} // namespace ze_cpu
