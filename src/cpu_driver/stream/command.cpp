// SPDX-License-Identifier: Apache-2.0
#include "command.h"

#include "opencl/runtime.h"
#include "process/fork_gate.h"
#include "process/handover.h"

namespace ze_cpu {

cl::Int MarkerCommand::enqueue(cl::Queue queue, cl::Uint wait_count, const cl::Event *waits,
                               cl::Event *event) {
    return opencl().clEnqueueMarkerWithWaitList(queue, wait_count, waits, event);
}

cl::Int FunctionCommand::enqueue(cl::Queue queue, cl::Uint wait_count, const cl::Event *waits,
                                 cl::Event *event) {
    // OpenCL copies the bytes of the argument. So the argument is a pointer to a shared_ptr, which
    // keeps the command alive until call() deletes it.
    auto *self = new std::shared_ptr<FunctionCommand>(shared_from_this());
    hand_over();
    cl::Int status = opencl().clEnqueueNativeKernel(queue, &FunctionCommand::call, &self, sizeof self, 0,
                                                    nullptr, nullptr, wait_count, waits, event);
    if (status != cl::success)
        delete self;
    return status;
}

void FunctionCommand::call(void *argument) {
    take_over();
    auto *self = *static_cast<std::shared_ptr<FunctionCommand> **>(argument);
    {
        const ForkGate::Callback callback;
        (*self)->function_();
    }
    delete self;
    hand_over();
}

} // namespace ze_cpu
