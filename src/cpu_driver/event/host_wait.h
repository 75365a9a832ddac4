// SPDX-License-Identifier: Apache-2.0
//
// Waits of host threads for changes that only calls of the driver make: a Signal that no running
// command will set, or a stream that holds commands back. Such waits are rare, so one condition
// variable serves them all.
#pragma once

#include <functional>

#include "process/deadline.h"

namespace ze_cpu {

/// Blocks until `done()` returns true; it is called again after each wake_hosts(). The thread must
/// not hold a lock. Returns false if the deadline passes first. Throws ZE_RESULT_ERROR_UNINITIALIZED if
/// another thread ends the process.
bool host_wait(const std::function<bool()> &done, const Deadline &deadline);

/// To be called after each change that a thread may wait for.
void wake_hosts();

/// To be called in a child of fork(): threads of its parent may have held the lock.
void forget_host_waits();

} // namespace ze_cpu
