// SPDX-License-Identifier: Apache-2.0
//
// All streams of the process: waiting for them, and keeping them from beginning anything.
#pragma once

#include <functional>
#include <memory>

#include "submission.h"

namespace ze_cpu {

/// Who creates a stream adds it; its close removes it.
void add_stream(const std::shared_ptr<Submission> &stream);
void remove_stream(const std::weak_ptr<Submission> &stream);

/// Waits for all streams of the process.
ze_result_t synchronize_all();

/// Waits until nothing is in the OpenCL queues any more, while no other thread is inside the driver. Backlogs
/// stay as they are. False if the deadline passed first.
bool finish_queues(const Deadline &deadline);

/// Calls `work` while no command of any stream runs. What waits for an event goes on waiting.
void run_while_paused(const std::function<void()> &work);

} // namespace ze_cpu
