// SPDX-License-Identifier: Apache-2.0
// fork() while other threads execute, and while one waits for an event of the host. The child uses
// what it inherits, and what it makes.
#include <atomic>
#include <thread>

#include "ze_test.h"

constexpr int count = 4096;

static Owned<int *> zeros() {
    return zeros<int>(count * sizeof(int));
}

static void add(ze_command_list_handle_t list, ze_kernel_handle_t kernel, int *values,
                ze_event_handle_t signal = nullptr, std::vector<ze_event_handle_t> waits = {}) {
    set_arg(kernel, 0, values);
    launch(list, kernel, count / 64, 64, signal, std::move(waits));
}

static void check(const int *values, int expected) {
    for (int i = 0; i < count; i++)
        CHECK(values[i] == expected);
}

/// Work of the child: on a list of the parent, and with new objects for everything else.
static void use(ze_command_list_handle_t inherited) {
    alarm(60); // this hung once
    const auto own = load_module("kernels.spv");
    const auto kernel = make_kernel("add_one", own);
    const auto list = immediate_list();
    const auto start = make_event(), end = make_event();
    const auto values = zeros();
    for (int i = 0; i < 20; i++)
        add(list, kernel, values);
    finish(list);
    add(inherited, kernel, values, end, {start});
    add(list, kernel, values, nullptr, {end});
    OK(ze.zeCommandListAppendEventReset(list, end));
    add(list, kernel, values, end);
    NOT_READY(ze.zeEventQueryStatus(end));
    OK(ze.zeEventHostSignal(start));
    while (ze.zeEventQueryStatus(end) == ZE_RESULT_NOT_READY) // nobody waits in the runtime
        std::this_thread::yield();
    OK(ze.zeCommandListHostSynchronize(list, 1'000'000'000));
    finish(inherited);
    check(values, 23);
    std::thread other([&] {
        const auto own = immediate_list();
        const auto others = zeros();
        add(own, kernel, others);
        finish(own);
        check(others, 1);
    });
    other.join();
}

TEST(beside_running_threads) {
    loaded("kernels.spv"); // threads share it
    std::atomic<bool> stop{false};
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; t++)
        threads.emplace_back([&] {
            const auto list = immediate_list();
            const auto kernel = make_kernel("add_one");
            const auto values = zeros();
            int launches = 0;
            for (; !stop; launches++) {
                add(list, kernel, values);
                if (launches % 16 == 15)
                    finish(list);
            }
            finish(list);
            check(values, launches);
        });
    const auto list = immediate_list();
    for (int i = 0; i < 12; i++)
        CHECK(in_child([&] { use(list); }) == 0);
    stop = true;
    for (std::thread &thread : threads)
        thread.join();
}

/// A kernel that runs until the host ends it. The fork goes on without it, and the driver refuses
/// calls in the child.
TEST(beside_an_endless_kernel) {
    const auto list = immediate_list();
    const auto kernel = make_kernel("until_told");
    const auto flag = shared<volatile int>(sizeof(int));
    *flag = 0;
    set_arg(kernel, 0, flag);
    launch(list, kernel, 1, 1);
    CHECK(in_child([] {
              uint32_t drivers = 0;
              REFUSED(UNINITIALIZED, ze.zeDriverGet(&drivers, nullptr));
          }) == 0);
    *flag = 1;
    finish(list);
}

/// A function of the program that a command calls, and which calls the driver again and again.
struct Calls {
    ze_event_handle_t event = nullptr;
    std::atomic<bool> begun{false};
    static void make(void *self) {
        auto &calls = *static_cast<Calls *>(self);
        for (int i = 0; i < 200000; i++) {
            NOT_READY(ze.zeEventQueryStatus(calls.event));
            calls.begun = true;
        }
    }
};

/// The fork waits for the function, and the function does not wait for the fork.
TEST(beside_a_host_function) {
    const auto event = make_event();
    Calls calls;
    calls.event = event;
    const auto list = immediate_list();
    append(ze.zeCommandListAppendHostFunction, list, Calls::make, &calls, nullptr);
    while (!calls.begun)
        std::this_thread::yield();
    CHECK(in_child([] {
              uint32_t drivers = 0;
              OK(ze.zeDriverGet(&drivers, nullptr));
          }) == 0);
    finish(list);
}
