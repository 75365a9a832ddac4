// SPDX-License-Identifier: Apache-2.0
//
// Commands: what an append puts on a list. An immediate list submits a command at once. A regular
// list keeps it and submits it at each execution, on any number of queues. So a command never
// changes after its append.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "event/signal_state.h"
#include "opencl/opencl_api.h"
#include "threadpool.h"

namespace ze_cpu {

class Command;
using CommandPtr = std::shared_ptr<Command>;

class Command {
public:
    virtual ~Command() = default;

    /// Puts the command into the OpenCL queue, to start after `waits`. Stores the OpenCL event of
    /// the command in `event`, unless that is null.
    virtual cl::Int enqueue(cl::Queue queue, cl::Uint wait_count, const cl::Event *waits,
                            cl::Event *event) = 0;

    /// False for a command that only waits and signals. Without any event it need not be enqueued.
    virtual bool has_work() const { return true; }

    /// Whether one thread may do all of the command's work.
    virtual bool is_for_one_thread() const { return false; }

    /// Runs the command on this thread, with others that help, and returns true; or does nothing and returns
    /// false. pool: who helps; null: the crew.
    virtual bool run_with_help(const Threadpool *pool) {
        (void)pool;
        return false;
    }

    /// This command if it is a step, else null.
    virtual class Step *as_step() { return nullptr; }

    std::vector<SignalPtr> wait_signals;
    SignalPtr signal;          // may be null
    bool signals_anew = false; // counter-based event: the last execution alone counts
};

/// A command that determines what follows it in its stream, so nothing behind it is enqueued before
/// it has run. It runs on the host after everything before it has finished: on a thread of the
/// OpenCL runtime, or on the submitting thread if the stream is idle.
class Step : public Command {
public:
    cl::Int enqueue(cl::Queue, cl::Uint, const cl::Event *, cl::Event *) final { return cl::success; }
    Step *as_step() final { return this; }

    /// Runs the step. Returns the commands to execute in its place, before the rest of the stream.
    /// The last of them carries the step's signal, if there is one. May throw.
    virtual std::vector<CommandPtr> run() = 0;
};

/// Signals, waits and barriers. The OpenCL queue is in order, so a marker is enough.
class MarkerCommand final : public Command {
public:
    cl::Int enqueue(cl::Queue queue, cl::Uint wait_count, const cl::Event *waits, cl::Event *event) override;
    bool has_work() const override { return false; }
};

/// Copies, fills, timestamp queries and host functions: a function that a thread of the OpenCL
/// runtime calls when the command's turn comes. The function must not throw.
class FunctionCommand final : public Command, public std::enable_shared_from_this<FunctionCommand> {
public:
    explicit FunctionCommand(std::function<void()> function) : function_(std::move(function)) {}
    cl::Int enqueue(cl::Queue queue, cl::Uint wait_count, const cl::Event *waits, cl::Event *event) override;

private:
    static void call(void *argument);
    std::function<void()> function_;
};

/// The reset of an event. It is a step because the waits behind it must see the event as reset.
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
