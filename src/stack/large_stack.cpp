// SPDX-License-Identifier: Apache-2.0
#include "stack/large_stack.h"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <string>

#include <pthread.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>

namespace stack {
namespace {

constexpr size_t bytes_of_thread = size_t(8) << 20;

/// Without address space, the main thread's stack cannot grow either: the next page of it is a SIGSEGV.
bool has_address_space(size_t bytes) {
    void *mapped = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return mapped != MAP_FAILED && munmap(mapped, bytes) == 0;
}

/// Lets the system give the main thread this much stack now, so that a limit that comes later takes
/// nothing away.
[[gnu::noinline]] void touch_stack() {
    volatile char pages[large];
    for (size_t at = sizeof pages; at > 0; at -= 4096)
        pages[at - 1] = 0;
}

bool find_stack_of_thread(uintptr_t here) {
    pthread_attr_t attributes;
    void *lowest = nullptr;
    size_t bytes = 0, guard = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0)
        return false;
    pthread_attr_getstack(&attributes, &lowest, &bytes);
    pthread_attr_getguardsize(&attributes, &guard);
    pthread_attr_destroy(&attributes);
    const size_t kept = guard + large;
    if (bytes < kept)
        return false;
    known = {reinterpret_cast<uintptr_t>(lowest) + kept, bytes - kept};
    return here - known.first < known.bytes;
}

struct Call {
    void (*function)(void *);
    void *argument;
};

void *run(void *argument) {
    const auto &call = *static_cast<Call *>(argument);
    call.function(call.argument);
    return nullptr;
}

} // namespace

bool find_large() {
    const auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
    // The stack that the process began with: pthread_getattr_np() would need /proc.
    const uintptr_t top = getauxval(AT_EXECFN); // above all frames
    rlimit limit{};
    getrlimit(RLIMIT_STACK, &limit);
    const size_t most = std::min<rlim_t>(limit.rlim_cur, size_t(64) << 20);
    if (here >= top || top - here >= most)
        return find_stack_of_thread(here);
    constexpr size_t margin = size_t(64) << 10; // also for the frames from here to touch_stack()
    if (top - here + large + margin > most || !has_address_space(large + margin))
        return false;
    touch_stack();
    known = {here, top - here};
    return true;
}

std::string call_on_large(void (*function)(void *), void *argument) {
    Call call{function, argument};
    pthread_t thread;
    pthread_attr_t attributes;
    int error = pthread_attr_init(&attributes);
    if (error == 0) {
        pthread_attr_setstacksize(&attributes, bytes_of_thread);
        // The program's handlers of signals must not run on this thread.
        sigset_t all, before;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        error = pthread_create(&thread, &attributes, run, &call);
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
        pthread_attr_destroy(&attributes);
    }
    if (error != 0)
        return "the calling thread has less than " + std::to_string(large >> 10) +
               " kB of stack left, and a thread that has more cannot be started (" + std::strerror(error) +
               ")";
    pthread_join(thread, nullptr);
    return "";
}

} // namespace stack
