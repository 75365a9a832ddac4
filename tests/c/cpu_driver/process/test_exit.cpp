// SPDX-License-Identifier: Apache-2.0
// A process that used the driver ends by itself with its own exit code: with everything freed, with
// nothing freed, with commands running or held back, from a second thread, with objects in static
// variables of the program, with calls that are refused, and beside threads that go on to launch kernels.
#include <atomic>
#include <thread>
#include <vector>

#include "ze_test.h"

enum Way {
    freed,
    nothing_freed,
    running,
    held_back,
    from_thread,
    in_static,
    refused_in_static,
    beside_launches,
    quick,
    way_count
};

struct Holder {
    Owned<ze_command_list_handle_t> list;
    Owned<int *> memory;
    ze_module_handle_t module = nullptr; // has no kernel of the name
    void be_refused() const {
        const ze_kernel_desc_t desc{ZE_STRUCTURE_TYPE_KERNEL_DESC, nullptr, 0, "no_kernel_of_this_long_name"};
        ze_kernel_handle_t kernel = nullptr;
        REFUSED(INVALID_KERNEL_NAME, ze.zeKernelCreate(module, &desc, &kernel));
    }
    ~Holder() {
        if (module)
            be_refused();
    }
};
static Holder holder;

/// Threads of the program, which launch until the driver refuses. Static, so exit() waits for them.
struct Launching {
    std::vector<std::thread> threads;
    std::atomic<size_t> prepared{0};

    void start(ze_module_handle_t module) {
        for (int t = 0; t < 3; t++)
            threads.emplace_back([this, module] {
                ze_command_list_handle_t list = immediate_list().release();
                ze_kernel_handle_t kernel = make_kernel("add_one", module).release();
                set_arg(kernel, 0, shared<int>(4096).release());
                const ze_group_count_t groups = {16, 1, 1};
                OK(ze.zeKernelSetGroupSize(kernel, 64, 1, 1));
                prepared++;
                while (ze.zeCommandListAppendLaunchKernel(list, kernel, &groups, nullptr, 0, nullptr) ==
                           ZE_RESULT_SUCCESS &&
                       ze.zeCommandListHostSynchronize(list, UINT64_MAX) == ZE_RESULT_SUCCESS) {
                }
            });
        while (prepared < threads.size())
            std::this_thread::yield();
    }
    ~Launching() {
        for (std::thread &thread : threads)
            thread.join();
    }
};
static Launching launching;

[[noreturn]] static void use(int argc, char **argv, Way way) {
    open_driver(argc, argv);
    auto module = load_module("kernels.spv");
    auto kernel = make_kernel("spin", module);
    auto list = immediate_list();
    auto out = shared<int>(4096);
    set_args(kernel, out, way == running || way == quick ? 50000000 : 1000);
    launch(list, kernel, 4, 16);
    if (way == held_back) {
        const auto pool = make_pool(1).release();
        auto never = make_event(pool, 0).release();
        OK(ze.zeCommandListAppendWaitOnEvents(list, 1, &never));
        OK(ze.zeCommandListAppendEventReset(list, never));
        launch(list, kernel, 4, 16);
    }
    if (way == freed || way == nothing_freed || way == in_static || way == from_thread)
        finish(list);
    if (way == freed) {
        out.end();
        list.end();
        kernel.end();
        module.end();
        OK(ze.zeContextDestroy(context));
    }
    if (way == in_static) {
        holder.list = std::move(list);
        holder.memory = std::move(out);
    }
    if (way == refused_in_static) {
        holder.module = module;
        holder.be_refused();
    }
    if (way == beside_launches)
        launching.start(module);
    if (way == from_thread)
        std::thread([] { std::exit(40 + from_thread); }).join();
    if (way == quick)
        _exit(40 + way);
    std::exit(40 + way);
}

int main(int argc, char **argv) {
    // The loader and its validation layer, too, destroy what calls of other threads need, and cannot refuse.
    const bool is_direct = argc < 2 || std::string(argv[1]) == "direct";
    for (int way = 0; way < way_count; way++) {
        if (way == beside_launches && !is_direct)
            continue;
        const int status = in_child([&] { use(argc, argv, Way(way)); });
        if (exit_code(status) == 77)
            return 77;
        if (exit_code(status) != 40 + way)
            std::printf("way %d ended with status 0x%x\n", way, status);
        CHECK(exit_code(status) == 40 + way);
    }
}
