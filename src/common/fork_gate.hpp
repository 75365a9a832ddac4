// SPDX-License-Identifier: Apache-2.0
// Keeps the library usable in a child of fork(). The child has one thread only, so no other thread
// may hold a lock of the library when the process is copied. A fork waits, for at most ten seconds,
// until all threads have left the library's entry points, and lets no thread in until it is over.
// libze_cpu.so has a gate of its own.
#pragma once

namespace zemm::fork_gate {

// Held inside an entry point. The constructor waits while another thread forks. It throws
// runtime_error in a child whose parent forked while a thread was still inside.
class pass {
public:
    pass();
    ~pass();
    pass(const pass &) = delete;
    pass &operator=(const pass &) = delete;
};

// Lets forks go ahead while a thread inside an entry point waits for long. The thread must hold no
// lock.
class pause {
public:
    pause() noexcept;
    ~pause();
    pause(const pause &) = delete;
    pause &operator=(const pause &) = delete;
};

// Registers the fork handlers. Call it after a driver has been opened: handlers run in the reverse
// order of their registration, and threads must leave this library before the driver's own handlers
// shut them out.
void watch();

} // namespace zemm::fork_gate
