// SPDX-License-Identifier: Apache-2.0
//
// Several threads with their own lists and kernels of one module; concurrent module builds; loops
// that would show leaked objects.
#include <thread>

#include <unistd.h>

#include "ze_test.h"

static ze_module_handle_t module;

static void work(int id) {
    ze_command_list_handle_t list = immediate_list();
    ze_kernel_handle_t kernel = make_kernel(module, "scale");
    ze_event_pool_handle_t pool = make_pool(1, ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP);
    ze_event_handle_t event = make_event(pool, 0);
    const int n = 256;
    auto *a = static_cast<int *>(shared(n * 4)), *b = static_cast<int *>(shared(n * 4));
    for (int i = 0; i < n; i++)
        a[i] = i + id;
    for (int round = 0; round < 300; round++) {
        set_arg(kernel, 0, a);
        set_arg(kernel, 1, b);
        set_arg(kernel, 2, round);
        launch(list, kernel, 4, 64, event);
        OK(ze.zeEventHostSynchronize(event, UINT64_MAX));
        for (int i = 0; i < n; i++)
            CHECK(b[i] == (i + id) * round);
        OK(ze.zeEventHostReset(event));
    }
    destroy_all(event, pool, a, b, kernel, list);
}

template <class Body> static void in_threads(int count, Body body) {
    std::vector<std::thread> threads;
    for (int i = 0; i < count; i++)
        threads.emplace_back(body, i);
    for (std::thread &thread : threads)
        thread.join();
}

static void create_and_destroy() {
    ze_event_pool_handle_t pool = make_pool(1);
    ze_event_handle_t event = make_event(pool, 0);
    ze_kernel_handle_t kernel = make_kernel(module, "add_one");
    ze_command_list_handle_t list = immediate_list();
    auto *a = static_cast<int *>(shared(100000));
    set_arg(kernel, 0, a);
    for (int i = 0; i < 20; i++)
        launch(list, kernel, 1, 64);
    OK(ze.zeCommandListAppendMemoryCopy(list, a + 100, a, 100, event, 0, nullptr));
    OK(ze.zeEventHostSynchronize(event, UINT64_MAX));
    finish(list);
    destroy_all(a, list, kernel, event, pool);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) // these keep freed memory
static size_t resident_kb() {
    long pages = 0, total = 0;
    FILE *file = std::fopen("/proc/self/statm", "r");
    CHECK(file && std::fscanf(file, "%ld %ld", &total, &pages) == 2);
    std::fclose(file);
    return size_t(pages) * size_t(sysconf(_SC_PAGESIZE)) / 1024;
}

static void leaks() {
    for (int i = 0; i < 300; i++)
        create_and_destroy();
    size_t before = resident_kb();
    for (int i = 0; i < 2000; i++)
        create_and_destroy();
    size_t after = resident_kb();
    std::printf("resident %zu -> %zu kB over 2000 rounds\n", before, after);
    CHECK(after < before + 8 * 1024);
}
#else
static void leaks() {
    create_and_destroy();
}
#endif

int main(int argc, char **argv) {
    open_driver(argc, argv);
    module = load_module("kernels.spv");
    in_threads(8, work);
    in_threads(4, [](int) { OK(ze.zeModuleDestroy(load_module("kernels.spv"))); });
    leaks();
    std::puts("ok");
}
