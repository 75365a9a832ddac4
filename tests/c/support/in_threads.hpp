// SPDX-License-Identifier: Apache-2.0
// Calls body(0) to body(count - 1), each in a thread of its own, and waits for them.
#pragma once

#include <thread>
#include <vector>

template <typename Body> void in_threads(int count, Body body) {
    std::vector<std::thread> threads;
    for (int i = 0; i < count; i++)
        threads.emplace_back(body, i);
    for (std::thread &thread : threads)
        thread.join();
}
