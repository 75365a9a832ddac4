// SPDX-License-Identifier: Apache-2.0
// fork(): the child has one thread, so no other may hold a lock of the library when the process is copied. A
// fork waits until no other thread is inside of an entry point, and lets none in until it is over. What the
// driver needs for the same it does itself, afterwards.
#pragma once

namespace zemm::fork_gate {

// Inside of an entry point. Waits while another thread forks. Throws runtime_error in a child whose parent
// could not be brought to rest.
class pass {
public:
    pass();
    ~pass();
    pass(const pass &) = delete;
    pass &operator=(const pass &) = delete;
};

// Outside for a while: for waits that may take long, with no lock held.
class pause {
public:
    pause() noexcept;
    ~pause();
    pause(const pause &) = delete;
    pause &operator=(const pause &) = delete;
};

// To be called when a driver has been opened: handlers run in the reverse order of their registration, and
// other threads must leave this library before they are kept out of the driver.
void watch();

} // namespace zemm::fork_gate
