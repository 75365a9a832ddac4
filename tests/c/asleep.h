// SPDX-License-Identifier: Apache-2.0
// Waits until another thread of this process sleeps, so that a test can act while it does.
#pragma once

#include <fstream>
#include <string>
#include <thread>

#include <sys/types.h>

// Tells which sleep of the thread this is. Empty if it does not sleep, or does not exist.
inline std::string sleep_of(pid_t thread) {
    std::string count;
    std::ifstream status("/proc/self/task/" + std::to_string(thread) + "/status");
    for (std::string line; std::getline(status, line);)
        if (line.starts_with("State:") && !line.starts_with("State:\tS"))
            return "";
        else if (line.starts_with("voluntary_ctxt_switches:"))
            count = line;
    return count;
}

// Looks until it has seen the same sleep twice: a thread may sleep for a moment because the looking thread
// has a lock of the C library.
inline void wait_until_asleep(pid_t thread) {
    for (std::string before = "-", now; (now = sleep_of(thread)).empty() || now != before; before = now)
        std::this_thread::yield();
}
