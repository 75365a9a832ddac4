// SPDX-License-Identifier: Apache-2.0
//
// Host threads that wait for something which the driver can only be told of: a Signal that nothing is about
// to set, a stream that holds commands back. That is rare, so one place serves them all.
#pragma once

#include <functional>

namespace ze_cpu {

class Deadline;

/// Blocks until `done()`, which is asked again after each wake_hosts(). No lock may be held. False if the
/// deadline passed first.
bool host_wait(const std::function<bool()> &done, const Deadline &deadline);

/// After the change that a thread may wait for.
void wake_hosts();

/// In a child of fork(), whose parent's threads may have held the lock.
void forget_host_waits();

} // namespace ze_cpu
