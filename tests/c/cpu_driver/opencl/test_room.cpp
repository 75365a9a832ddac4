// SPDX-License-Identifier: Apache-2.0
// The driver where the process may start no threads or has no address space left, and where the
// runtime never returns. To be called as: test_room direct stuck_runtime.so.
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <string>

#include <dlfcn.h>
#include <pthread.h>

#include <sys/resource.h>

#include "ze_test.h"

static std::atomic<int> allowed{1000}; // threads that may still be started

extern "C" int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                              void *argument) {
    static const auto real = reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
    return allowed-- > 0 ? real(thread, attributes, run, argument) : EAGAIN;
}

static void refuses(const UnopenedDriver &driver, const char *because) {
    CHECK_RESULT(driver.init(0), ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
    if (!std::strstr(driver.why(), because))
        std::printf("%s\n", driver.why());
    CHECK(std::strstr(driver.why(), because));
}

static void without_threads() {
    const UnopenedDriver driver;
    allowed = 0;
    refuses(driver, "only 0 can be started");
    allowed = 1000;
    OK(driver.init(0));
}

static size_t address_space() {
    std::FILE *file = std::fopen("/proc/self/statm", "r");
    unsigned long pages = 0;
    CHECK(file && std::fscanf(file, "%lu", &pages) == 1);
    std::fclose(file);
    return pages * size_t(sysconf(_SC_PAGESIZE));
}

static void without_address_space() {
    const UnopenedDriver driver;
    allowed = 0; // the first attempt loads the runtime's libraries
    refuses(driver, "threads");
    allowed = 1000;
    rlimit limit{};
    CHECK(getrlimit(RLIMIT_AS, &limit) == 0);
    limit.rlim_cur = address_space() + (size_t(4) << 20);
    CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
    refuses(driver, "ulimit -v");
    limit.rlim_cur = limit.rlim_max;
    CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
    OK(driver.init(0));
}

/// A signal without a handler ends a process whose runtime never returns.
static void with_stuck_runtime() {
    UnopenedDriver().init(0);
    _exit(1);
}

int main(int argc, char **argv) {
    CHECK(argc == 3);
    // An open driver cannot be opened another time, so each way has a process.
    if (exit_code(in_child([&] { open_driver(argc, argv); })) == 77)
        return 77; // there is no runtime
    for (const auto way : {without_threads, without_address_space})
        CHECK(in_child(way) == 0);
    setenv("ZE_CPU_OPENCL_LIBRARY", argv[2], 1);
    const pid_t stuck = start_child(with_stuck_runtime);
    sleep(1);
    kill(stuck, SIGTERM);
    const int status = wait_for(stuck);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}
