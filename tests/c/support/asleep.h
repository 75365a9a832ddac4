// SPDX-License-Identifier: Apache-2.0
// Threads of this process that sleep in a call, so that a test can act while they do.
#pragma once

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <string>
#include <thread>

#include <pthread.h>
#include <unistd.h>

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

// A thread that calls `wait`. The test goes on when it sleeps there.
template <typename Result> class sleeping_thread {
public:
    sleeping_thread(std::function<Result()> wait, Result none, int cancel_type)
        : wait_(std::move(wait)), result_(none), cancel_type_(cancel_type) {
        if (pthread_create(&thread_, nullptr, run, this))
            std::abort();
        while (!id_)
            std::this_thread::yield();
        wait_until_asleep(id_);
    }
    void cancel() const { pthread_cancel(thread_); }
    // Returns what the call has returned, or `none`, and whether the thread was cancelled.
    std::pair<Result, bool> join() {
        void *value = nullptr;
        if (pthread_join(thread_, &value))
            std::abort();
        return {result_, value == PTHREAD_CANCELED};
    }

private:
    static void *run(void *self) {
        auto &t = *static_cast<sleeping_thread *>(self);
        pthread_setcanceltype(t.cancel_type_, nullptr);
        t.id_ = gettid();
        t.result_ = t.wait_();
        pthread_testcancel();
        return nullptr;
    }

    const std::function<Result()> wait_;
    Result result_;
    const int cancel_type_;
    pthread_t thread_{};
    std::atomic<pid_t> id_{0};
};
