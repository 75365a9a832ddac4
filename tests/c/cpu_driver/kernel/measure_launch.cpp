// SPDX-License-Identifier: Apache-2.0
//
// Where the time of a launch and a wait goes: the call that appends it, until the kernel begins (a thread has
// to take it), the kernel, and from its end until the wait returns. Nothing is asserted. With as many
// work-groups as the device has units, and four times as many; right after the last launch, and after pauses
// in which the runtime's threads stop looking for work.
#include <algorithm>
#include <chrono>
#include <thread>

#include "ze_test.h"

namespace {

struct Times {
    std::vector<double> append, begin, kernel, end, whole; // in us
};

double median(std::vector<double> &times) {
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
}

double now_us() {
    timespec t{};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return double(t.tv_sec) * 1e6 + double(t.tv_nsec) * 1e-3;
}

void measure(ze_kernel_handle_t kernel, uint32_t groups, int rounds, std::chrono::microseconds pause) {
    const auto pool = make_pool(1, ZE_EVENT_POOL_FLAG_HOST_VISIBLE | ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP);
    const auto event = make_event(pool, 0);
    const auto list = immediate_list();
    std::vector<int> out(groups);
    set_args(kernel, out.data(), rounds);
    Times times;
    const int runs = pause.count() > 10000 ? 40 : pause.count() > 0 ? 200 : 1000;
    for (int run = -runs / 10; run < runs; run++) {
        std::this_thread::sleep_for(pause);
        const double start = now_us();
        launch(list, kernel, groups, 1, event);
        const double appended = now_us();
        OK(ze.zeCommandListHostSynchronize(list, UINT64_MAX));
        const double returned = now_us();
        ze_kernel_timestamp_result_t stamp{}; // in ns of the same clock
        OK(ze.zeEventQueryKernelTimestamp(event, &stamp));
        OK(ze.zeEventHostReset(event));
        if (run < 0)
            continue;
        const double begun = double(stamp.global.kernelStart) * 1e-3,
                     ended = double(stamp.global.kernelEnd) * 1e-3;
        times.append.push_back(appended - start);
        times.begin.push_back(begun - start);
        times.kernel.push_back(ended - begun);
        times.end.push_back(returned - ended);
        times.whole.push_back(returned - start);
    }
    std::printf("%6u %7d %8lld | %8.2f %8.2f %8.2f %8.2f | %8.2f\n", groups, rounds, (long long)pause.count(),
                median(times.append), median(times.begin), median(times.kernel), median(times.end),
                median(times.whole));
}

} // namespace

int main(int argc, char **argv) {
    open_driver(argc, argv);
    const auto spin = make_kernel("spin");
    const unsigned units = std::thread::hardware_concurrency();
    std::printf("medians in us, %u units\n", units);
    std::printf("groups  rounds    pause |   append   begins   kernel  returns |    whole\n");
    for (const int pause : {0, 2000, 50000})
        for (const int rounds : {1, 3000, 30000})
            for (const uint32_t groups : {1u, units, 4 * units})
                measure(spin, groups, rounds, std::chrono::microseconds(pause));
    return 0;
}
