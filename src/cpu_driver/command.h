// SPDX-License-Identifier: Apache-2.0
//
// What can be put on a list: immediate lists submit a command at once, regular lists keep it and submit it at
// each execution. A command is immutable once appended.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "opencl_api.h"
#include "signal.h"

namespace ze_cpu {

class Command {
public:
    virtual ~Command() = default;

    /// Puts the command into the OpenCL queue, to start after `waits`; `event` (may be null) receives its
    /// event.
    virtual cl::Int enqueue(cl::Queue queue, cl::Uint wait_count, const cl::Event *waits,
                            cl::Event *event) = 0;

    /// True for a command that has to run on the host when everything before it has finished: then
    /// `run_on_host` is called instead of `enqueue`.
    virtual bool runs_on_host() const { return false; }
    virtual void run_on_host() {}

    /// False if the command is only there for its events: without any it need not be enqueued.
    virtual bool has_work() const { return true; }

    std::vector<SignalPtr> wait_signals;
    SignalPtr signal; // may be null
};

using CommandPtr = std::shared_ptr<Command>;

/// Signals, waits and barriers: the queue is in order, so a marker does it.
class MarkerCommand final : public Command {
public:
    cl::Int enqueue(cl::Queue queue, cl::Uint wait_count, const cl::Event *waits, cl::Event *event) override;
    bool has_work() const override { return false; }
};

/// Copies, fills and timestamp queries: a function that a thread of the runtime calls in its turn. It must
/// not throw.
class FunctionCommand final : public Command, public std::enable_shared_from_this<FunctionCommand> {
public:
    explicit FunctionCommand(std::function<void()> function) : function_(std::move(function)) {}
    cl::Int enqueue(cl::Queue queue, cl::Uint wait_count, const cl::Event *waits, cl::Event *event) override;

private:
    static void call(void *argument);
    std::function<void()> function_;
};

/// Event resets. Done on the host after the queue has drained, because a reset that ran later than the
/// enqueueing of a following signal would take that signal away.
class ResetCommand final : public Command {
public:
    explicit ResetCommand(SignalPtr target) : target_(std::move(target)) {}
    cl::Int enqueue(cl::Queue, cl::Uint, const cl::Event *, cl::Event *) override { return cl::success; }
    bool runs_on_host() const override { return true; }
    void run_on_host() override { target_->reset(); }

private:
    SignalPtr target_;
};

} // namespace ze_cpu
