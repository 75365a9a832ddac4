// SPDX-License-Identifier: Apache-2.0
// Processes of a test.
#pragma once

#include <cstdio>

#include <sys/wait.h>
#include <unistd.h>

// Starts a process that calls `body` and exits with 0. It has this many seconds.
template <typename Body> pid_t start_child(Body body, unsigned seconds = 60) {
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        alarm(seconds);
        body();
        std::fflush(stdout);
        _exit(0);
    }
    return child;
}

// How a process has ended: the status of waitpid().
inline int wait_for(pid_t child) {
    int status = -1;
    return waitpid(child, &status, 0) == child ? status : -1;
}
template <typename Body> int in_child(Body body) {
    return wait_for(start_child(body));
}
// The exit code of a process, or -1 if it has ended otherwise.
inline int exit_code(int status) {
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
