// SPDX-License-Identifier: Apache-2.0
// ggml's threads, while zemm computes. The threads of OpenMP spin for milliseconds after a parallel region,
// on the cores that zemm's threads need. So they sleep in a region of their own.
#pragma once

#include <functional>

namespace zemm_ggml {

// Runs the work on this thread while `threads` - 1 threads of its OpenMP team sleep. Without OpenMP in ggml's
// CPU backend it only runs the work.
void run_alone(int threads, const std::function<void()> &work);

} // namespace zemm_ggml
