// SPDX-License-Identifier: Apache-2.0
//
// What can be put on a list: immediate lists submit a command at once, regular lists keep it and submit it at
// each execution, on any number of queues. A command does not change once it is appended.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "opencl_api.h"
#include "signal.h"

namespace ze_cpu {

class Command;
using CommandPtr = std::shared_ptr<Command>;

class Command {
public:
    virtual ~Command() = default;

    /// Puts the command into the OpenCL queue, to start after `waits`; `event` (may be null) receives its
    /// event.
    virtual cl::Int enqueue(cl::Queue queue, cl::Uint wait_count, const cl::Event *waits,
                            cl::Event *event) = 0;

    /// False if the command is only there for its events: without any it need not be enqueued.
    virtual bool has_work() const { return true; }

    virtual class Step *as_step() { return nullptr; }

    std::vector<SignalPtr> wait_signals;
    SignalPtr signal;          // may be null
    bool signals_anew = false; // of a counter-based event: only the last execution counts
};

/// A command that decides about what follows it in its stream: nothing of that is enqueued before it has run.
/// It runs on the host, in a thread of the runtime, when everything before has finished.
class Step : public Command {
public:
    cl::Int enqueue(cl::Queue, cl::Uint, const cl::Event *, cl::Event *) final { return cl::success; }
    Step *as_step() final { return this; }

    /// The commands that it becomes, to go before the rest; the last of them has its signal. May throw.
    virtual std::vector<CommandPtr> run() = 0;
};

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

/// Event resets. A step, because waits that follow must see the event as it is after the reset.
class ResetStep final : public Step {
public:
    explicit ResetStep(SignalPtr target) : target_(std::move(target)) {}
    std::vector<CommandPtr> run() override {
        target_->reset();
        return {};
    }

private:
    SignalPtr target_;
};

} // namespace ze_cpu
