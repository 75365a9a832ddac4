// SPDX-License-Identifier: Apache-2.0
#include "room.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <vector>

#include <pthread.h>
#include <sys/mman.h>

namespace ze_cpu {
namespace {

constexpr size_t stack_bytes = size_t(8) << 20;    // of each thread of the runtime
constexpr size_t working_bytes = size_t(96) << 20; // beside libraries, for building a small module

/// A thread that exists until the gate is opened.
void *wait_at(void *gate) {
    auto *mutex = static_cast<pthread_mutex_t *>(gate);
    pthread_mutex_lock(mutex);
    pthread_mutex_unlock(mutex);
    return nullptr;
}

bool may_map(size_t bytes) {
    void *reserved = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return reserved != MAP_FAILED && munmap(reserved, bytes) == 0;
}

} // namespace

std::string lack_of_address_space(size_t bytes) {
    bytes += working_bytes;
    if (may_map(bytes))
        return "";
    return "the OpenCL CPU runtime needs " + std::to_string(bytes >> 20) +
           " MB more of address space than the process may have (" + std::strerror(ENOMEM) +
           "): raise the limit (ulimit -v)";
}

std::string lack_of_threads(unsigned wanted) {
    std::vector<pthread_t> threads;
    threads.reserve(wanted);
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    pthread_attr_t attributes;
    if (int error = pthread_attr_init(&attributes))
        return std::string("no thread can be described: ") + std::strerror(error);
    pthread_attr_setstacksize(&attributes, stack_bytes);
    // The program's handlers of signals must not run on these threads.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_mutex_lock(&gate);
    int error = 0;
    for (pthread_t thread; threads.size() < wanted && error == 0;)
        if (error = pthread_create(&thread, &attributes, wait_at, &gate); error == 0)
            threads.push_back(thread);
    if (error == 0 && !may_map(working_bytes))
        error = ENOMEM;
    pthread_mutex_unlock(&gate);
    for (const pthread_t thread : threads)
        pthread_join(thread, nullptr);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    pthread_attr_destroy(&attributes);
    pthread_mutex_destroy(&gate);
    if (error != 0) // nothing above throws while the threads wait
        return "the OpenCL CPU runtime needs " + std::to_string(wanted) + " threads, and only " +
               std::to_string(threads.size()) + " can be started (" + std::strerror(error) +
               "): raise the limit of processes (ulimit -u, or pids of the container) or of address space "
               "(ulimit -v), or let the process use fewer CPUs (taskset)";
    return "";
}

} // namespace ze_cpu
