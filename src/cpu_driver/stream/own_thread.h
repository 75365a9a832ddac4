// SPDX-License-Identifier: Apache-2.0
//
// Queues whose commands run on the thread that enqueues them, inside of the call that does so.
#pragma once

#include <array>

#include "command.h"

namespace ze_cpu {

/// Makes an OpenCL queue. Returns null if OpenCL refuses it, with the reason in status.
cl::Queue make_queue(cl::Ulong properties, cl::Int &status);

class OwnThread {
public:
    OwnThread() = default;
    ~OwnThread();
    OwnThread(const OwnThread &) = delete;
    OwnThread &operator=(const OwnThread &) = delete;

    /// Runs the command, which waits for nothing, and signals its event. Returns false, and does nothing, if
    /// the runtime has no such queues. Throws ze_result_t if OpenCL refuses the command.
    bool run(Command &command);

private:
    struct Place {
        cl::Queue queue = nullptr; // made at its first command
        bool is_refused = false;   // by the runtime
    };
    cl::Queue queue_for(const Command &command);

    // The runtime takes and keeps the times of commands in the second one alone, for the events that they
    // signal. That takes 0.1 us.
    std::array<Place, 2> places_;
};

} // namespace ze_cpu
