// SPDX-License-Identifier: Apache-2.0
// Measures what a call through libdnnl.so.3 costs beside the same call of libzemm.so. Nothing is
// asserted. The two are called in turns, and the differences are of the best rounds.
#include <algorithm>
#include <chrono>
#include <cstdio>

#include "check.h"

extern "C" {
size_t dnnl_data_type_size(zemm_data_type_t);
zemm_status_t dnnl_memory_desc_query(const_zemm_memory_desc_t, zemm_query_t, void *);
zemm_status_t dnnl_primitive_execute(const_zemm_primitive_t, zemm_stream_t, int, const zemm_exec_arg_t *);
}

namespace {

constexpr int rounds = 200;

template <typename F> double nanoseconds_per_call(int calls, F &&call) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; ++i)
        call();
    const std::chrono::duration<double, std::nano> passed = std::chrono::steady_clock::now() - start;
    return passed.count() / calls;
}

template <typename F, typename G> void compare(const char *what, int calls, F &&direct, G &&forwarded) {
    double best[2] = {1e30, 1e30};
    for (int i = 0; i < rounds; ++i) {
        best[0] = std::min(best[0], nanoseconds_per_call(calls, direct));
        best[1] = std::min(best[1], nanoseconds_per_call(calls, forwarded));
    }
    std::printf("  %-28s zemm %9.2f  dnnl %9.2f  difference %6.2f ns\n", what, best[0], best[1],
                best[1] - best[0]);
}

} // namespace

int main() {
    const zemm_dims_t dims = {64, 64};
    zemm_memory_desc_t md;
    CHECK(zemm_memory_desc_create_with_tag(&md, 2, dims, zemm_f32, zemm_ab) == zemm_success);
    compare(
        "data_type_size", 10000, [] { zemm_data_type_size(zemm_f16); },
        [] { dnnl_data_type_size(zemm_f16); });
    int ndims;
    compare(
        "memory_desc_query", 10000, [&] { zemm_memory_desc_query(md, zemm_query_ndims_s32, &ndims); },
        [&] { dnnl_memory_desc_query(md, zemm_query_ndims_s32, &ndims); });
    // A refused execution is the whole path of the call, but without the device.
    compare(
        "primitive_execute, refused", 1000, [] { zemm_primitive_execute(nullptr, nullptr, 0, nullptr); },
        [] { dnnl_primitive_execute(nullptr, nullptr, 0, nullptr); });
    CHECK(zemm_memory_desc_destroy(md) == zemm_success);
    return 0;
}
