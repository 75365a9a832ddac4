// SPDX-License-Identifier: Apache-2.0
#include "ggml/team.hpp"

#include <atomic>
#include <dlfcn.h>
#include <exception>
#include <thread>
#include <unistd.h>

#include "ggml/functions.hpp"

namespace zemm_ggml {

namespace {

// Compilers make a call of this function from "omp parallel"; both GCC's and LLVM's runtimes have it.
using parallel_function = void (*)(void (*body)(void *), void *data, unsigned threads, unsigned flags);

parallel_function find_parallel() {
    ggml::device *const cpu = api.backend_dev_by_type(ggml::device_cpu);
    void *const library = cpu ? open_library_of(reinterpret_cast<void *>(cpu->iface.get_name)) : nullptr;
    return library ? reinterpret_cast<parallel_function>(dlsym(library, "GOMP_parallel")) : nullptr;
}

struct region {
    const std::function<void()> &work;
    const std::thread::id master = std::this_thread::get_id();
    std::atomic<bool> is_done{false};
    std::exception_ptr error{};
};

void body(void *data) {
    region &r = *static_cast<region *>(data);
    if (std::this_thread::get_id() != r.master) {
        r.is_done.wait(false);
        return;
    }
    try {
        r.work();
    } catch (...) {
        r.error = std::current_exception();
    }
    r.is_done = true;
    r.is_done.notify_all();
}

// A child of fork() has none of the threads of its parent's team, for which OpenMP would wait.
const pid_t loading_process = getpid();

} // namespace

void run_alone(int threads, const std::function<void()> &work) {
    static const parallel_function parallel = find_parallel();
    if (!parallel || threads < 2 || getpid() != loading_process) {
        work();
        return;
    }
    region r{work};
    parallel(body, &r, unsigned(threads), 0);
    if (r.error)
        std::rethrow_exception(r.error);
}

} // namespace zemm_ggml
