// SPDX-License-Identifier: Apache-2.0
#include "room.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <vector>

#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

namespace ze_cpu {
namespace {

constexpr size_t stack_bytes = size_t(8) << 20;     // of each thread of the runtime
constexpr size_t working_bytes = size_t(96) << 20;  // beside libraries, for building a small module
constexpr size_t building_bytes = size_t(64) << 20; // for a large module, with the libraries loaded
constexpr size_t loading_bytes = size_t(16) << 20;  // the same if it comes from a binary

/// A thread that exists until the gate is opened.
void *wait_at(void *gate) {
    auto *mutex = static_cast<pthread_mutex_t *>(gate);
    pthread_mutex_lock(mutex);
    pthread_mutex_unlock(mutex);
    return nullptr;
}

bool may_map(size_t bytes, int protection) {
    void *reserved = mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return reserved != MAP_FAILED && munmap(reserved, bytes) == 0;
}

/// Memory to write to counts as address space and as data.
bool may_write(size_t bytes) {
    return may_map(bytes, PROT_READ | PROT_WRITE);
}

std::string lack(const char *what, size_t bytes, const char *remedy) {
    return "the OpenCL CPU runtime needs " + std::to_string(bytes >> 20) + " MB more of " + what +
           " than the process may have (" + std::strerror(ENOMEM) + "): " + remedy;
}

std::string lack_of_data(size_t bytes) {
    return lack(
        "memory", bytes,
        "raise its limit (ulimit -d), or that of address space (ulimit -v), or let the system promise "
        "more (vm.overcommit_memory)");
}

std::string lack_of(size_t mapped, size_t written) {
    if (!may_map(mapped, PROT_NONE))
        return lack("address space", mapped, "raise the limit (ulimit -v)");
    return may_write(written) ? "" : lack_of_data(written);
}

} // namespace

std::string lack_of_memory(size_t bytes, size_t written) {
    return lack_of(bytes + working_bytes, written + working_bytes);
}

std::string lack_of_code() {
    const auto page = size_t(sysconf(_SC_PAGESIZE));
    void *memory = mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return "";                             // lack_of_memory() has a sentence for that
    *static_cast<volatile char *>(memory) = 0; // SELinux asks whether it was written
    const int error = mprotect(memory, page, PROT_READ | PROT_EXEC) == 0 ? 0 : errno;
    munmap(memory, page);
    if (error == 0)
        return "";
    return std::string("the OpenCL CPU runtime makes machine code, and this process may not execute memory "
                       "that it has written (") +
           std::strerror(error) +
           "): run it without this protection (systemd: MemoryDenyWriteExecute=no; prctl: PR_SET_MDWE; "
           "SELinux: execmem)";
}

std::string lack_for_build(bool is_built) {
    const size_t bytes = is_built ? loading_bytes : building_bytes;
    return lack_of(bytes, bytes);
}

bool may_have_file(size_t bytes) {
    rlimit limit{};
    return getrlimit(RLIMIT_FSIZE, &limit) != 0 || bytes <= limit.rlim_cur;
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
    const bool is_written = error != 0 || may_write(working_bytes);
    pthread_mutex_unlock(&gate);
    for (const pthread_t thread : threads)
        pthread_join(thread, nullptr);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    pthread_attr_destroy(&attributes);
    pthread_mutex_destroy(&gate);
    if (error != 0) // nothing above throws while the threads wait
        return "the OpenCL CPU runtime needs " + std::to_string(wanted) + " threads, and only " +
               std::to_string(threads.size()) + " can be started (" + std::strerror(error) +
               "): raise the limit of processes (ulimit -u, or pids of the container) or of memory "
               "(ulimit -v), or let the process use fewer CPUs (taskset)";
    return is_written ? "" : lack_of_data(working_bytes);
}

} // namespace ze_cpu
