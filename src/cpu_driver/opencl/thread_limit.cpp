// SPDX-License-Identifier: Apache-2.0
#include "thread_limit.h"

#include <atomic>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include <dlfcn.h>

namespace ze_cpu {
namespace {

std::atomic<uint32_t> limit{0};

/// oneTBB's global_control, which its library knows by address as long as it is active.
struct GlobalControl {
    size_t value = 0;
    intptr_t reserved = 0;
    int parameter = 0; // max_allowed_parallelism
};

/// The functions that activate and deactivate a control, of the TBB that the OpenCL runtime uses: the copy
/// that does without other TBBs has names of its own (private_copy.cpp).
struct Scheduler {
    void (*create)(GlobalControl &) = nullptr;
    void (*destroy)(GlobalControl &) = nullptr;

    explicit Scheduler(const void *function) {
        Dl_info library{};
        if (!dladdr(function, &library) || !library.dli_fname)
            return;
        void *runtime = dlopen(library.dli_fname, RTLD_NOW | RTLD_NOLOAD);
        if (!runtime)
            return;
        const auto find = [&](const char *name, const char *name_in_copy) {
            void *found = dlsym(runtime, name_in_copy);
            return reinterpret_cast<void (*)(GlobalControl &)>(found ? found : dlsym(runtime, name));
        };
        create = find("_ZN3tbb6detail2r16createERNS0_2d114global_controlE",
                      "_ZN3uAb6detail2r16createERNS0_2d114global_controlE");
        destroy = find("_ZN3tbb6detail2r17destroyERNS0_2d114global_controlE",
                       "_ZN3uAb6detail2r17destroyERNS0_2d114global_controlE");
        dlclose(runtime); // it stays open
    }
    explicit operator bool() const { return create && destroy; }
};

} // namespace

uint32_t thread_limit() {
    return limit.load(std::memory_order_relaxed);
}

bool set_thread_limit(uint32_t most, const void *function) {
    static std::mutex &setting = *new std::mutex;
    static GlobalControl &control = *new GlobalControl; // active while its value is not 0
    std::lock_guard lock(setting);
    const Scheduler scheduler(function);
    if (!scheduler)
        return most == 0;
    if (control.value)
        scheduler.destroy(control);
    control = GlobalControl{most, 0, 0};
    if (most)
        scheduler.create(control);
    limit = most;
    return true;
}

void read_thread_limit(const void *function) {
    const char *text = secure_getenv("ZEMM_NUM_THREADS");
    if (!text)
        return;
    uint32_t most = 0;
    const char *end = text + std::strlen(text);
    if (const auto read = std::from_chars(text, end, most); read.ec == std::errc() && read.ptr == end && most)
        set_thread_limit(most, function);
}

} // namespace ze_cpu
