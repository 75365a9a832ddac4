// SPDX-License-Identifier: Apache-2.0
//
// Every stream (Submission) of the process: waiting for all of them, and pausing all of them.
#pragma once

#include <functional>
#include <memory>

#include "submission.h"

namespace ze_cpu {

/// Waits until all streams of the process have finished, also after an error. Returns the first
/// error; the stream keeps it for its own synchronize().
ze_result_t synchronize_all();

/// Waits until all OpenCL queues are empty. To be called before fork(), when no other thread is
/// inside the driver. Commands in backlogs stay there. Returns false if the deadline passes first.
bool finish_queues(const Deadline &deadline);

/// Calls `work` while no command of any stream runs. Commands that wait for an event stay in their
/// backlogs.
void run_while_paused(const std::function<void()> &work);

} // namespace ze_cpu
