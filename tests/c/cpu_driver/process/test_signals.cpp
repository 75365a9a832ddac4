// SPDX-License-Identifier: Apache-2.0
// The driver leaves the handlers of signals to the program.
#include <atomic>
#include <csignal>
#include <thread>

#include "ze_test.h"

static std::atomic<int> interrupts;

static void count(int) {
    interrupts++;
}

struct Handlers {
    struct sigaction of[NSIG];
    Handlers() {
        std::memset(of, 0, sizeof of);
        for (int number = 1; number < NSIG; number++)
            sigaction(number, nullptr, &of[number]);
    }
};

static void check_same(const Handlers &before) {
    const Handlers now;
    for (int number = 1; number < NSIG; number++) {
        const bool is_own = now.of[number].sa_handler == count;
        const bool same = now.of[number].sa_handler == before.of[number].sa_handler &&
                          (!is_own || now.of[number].sa_flags == before.of[number].sa_flags);
        if (!same)
            std::printf("the handler of signal %d has changed\n", number);
        CHECK(same);
    }
}

/// Handlers from before the driver is opened and from after it stay, also after an interrupt and a build.
static void open_quietly(int argc, char **argv) {
    const Handlers before;
    open_driver(argc, argv);
    check_same(before);

    CHECK(signal(SIGTERM, count) == SIG_DFL);
    const Handlers changed;
    raise(SIGINT);
    CHECK(interrupts == 1);
    const auto module = load_module("kernels.spv");
    const auto kernel = make_kernel("spin", module);
    const auto list = immediate_list();
    const auto out = shared<int>(4096);
    set_args(kernel, out, 10);
    launch(list, kernel, 4, 16);
    finish(list);
    check_same(changed);
    raise(SIGTERM);
    CHECK(interrupts == 2);
}

static void open_while_signals_come(int argc, char **argv) {
    const Handlers before;
    std::atomic<bool> opened{false};
    std::thread sender([&] {
        do {
            kill(getpid(), SIGINT);
            usleep(200);
        } while (!opened);
    });
    open_driver(argc, argv);
    opened = true;
    sender.join();
    CHECK(interrupts > 0);
    check_same(before);
}

int main(int argc, char **argv) {
    struct sigaction own {};
    own.sa_handler = count;
    own.sa_flags = SA_RESTART;
    CHECK(sigaction(SIGINT, &own, nullptr) == 0);
    CHECK(signal(SIGHUP, SIG_IGN) != SIG_ERR);
    for (auto way : {open_quietly, open_while_signals_come}) {
        const int status = in_child([&] {
            way(argc, argv);
            std::exit(0);
        });
        if (exit_code(status) == 77)
            return 77;
        CHECK(exit_code(status) == 0);
    }
}
