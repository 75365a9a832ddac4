// SPDX-License-Identifier: Apache-2.0
// Several threads with their own lists and kernels of one module; concurrent module builds; loops
// that would show leaked objects.
#include "in_threads.hpp"
#include "ze_test.h"

static void work(int id) {
    const auto list = immediate_list();
    const auto kernel = make_kernel("scale");
    const auto pool = make_pool(1, ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP);
    const auto event = make_event(pool, 0);
    const int n = 256;
    const auto a = shared<int>(n * 4), b = shared<int>(n * 4);
    for (int i = 0; i < n; i++)
        a[i] = i + id;
    for (int round = 0; round < 300; round++) {
        set_args(kernel, a, b, round);
        launch(list, kernel, 4, 64, event);
        OK(ze.zeEventHostSynchronize(event, UINT64_MAX));
        for (int i = 0; i < n; i++)
            CHECK(b[i] == (i + id) * round);
        OK(ze.zeEventHostReset(event));
    }
}

static void create_and_destroy() {
    const auto pool = make_pool(1);
    const auto event = make_event(pool, 0);
    const auto kernel = make_kernel("add_one");
    const auto list = immediate_list();
    const auto a = shared<int>(100000);
    set_arg(kernel, 0, a);
    for (int i = 0; i < 20; i++)
        launch(list, kernel, 1, 64);
    OK(ze.zeCommandListAppendMemoryCopy(list, a + 100, a, 100, event, 0, nullptr));
    OK(ze.zeEventHostSynchronize(event, UINT64_MAX));
    finish(list);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) // these keep freed memory
TEST(leaks) {
    for (int i = 0; i < 300; i++)
        create_and_destroy();
    const long before = resident_kb();
    for (int i = 0; i < 2000; i++)
        create_and_destroy();
    const long after = resident_kb();
    std::printf("resident %ld -> %ld kB over 2000 rounds\n", before, after);
    CHECK(after < before + 8 * 1024);
}
#else
TEST(leaks) {
    create_and_destroy();
}
#endif

TEST(threads) {
    in_threads(8, work);
    in_threads(4, [](int) { load_module("kernels.spv"); });
}
