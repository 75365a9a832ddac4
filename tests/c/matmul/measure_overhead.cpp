// SPDX-License-Identifier: Apache-2.0
// Measures the cost of creation and of a launch with a matmul that computes next to nothing. Nothing is
// asserted. The first creation builds the kernel, or loads it if ZEMM_CACHE_DIR has it; the first run fills
// that folder.
#include <algorithm>
#include <chrono>

#include "zemm_test.hpp"

namespace {

constexpr int K = 64, N = 64, rounds = 2000;
constexpr zemm_dim_t any = ZEMM_RUNTIME_DIM_VAL;

double now_us() {
    using namespace std::chrono;
    return duration<double, std::micro>(steady_clock::now().time_since_epoch()).count();
}
template <typename F> double us_of(F &&work) {
    const double start = now_us();
    work();
    return now_us() - start;
}

void print(const char *what, std::vector<double> times) {
    std::sort(times.begin(), times.end());
    std::printf("  %-40s best %8.2f  median %8.2f  9 of 10 below %8.2f us\n", what, times[0],
                times[times.size() / 2], times[times.size() * 9 / 10]);
}
template <typename F> void measure(const char *what, F &&work) {
    std::vector<double> times;
    for (int i = 0; i < rounds; i++)
        times.push_back(us_of(work));
    print(what, times);
}

own<zemm_primitive_desc_t> described(const_zemm_primitive_attr_t attr, zemm_dim_t rows) {
    return matmul(tagged({rows, K}, zemm_s8, zemm_ab), dense({K, N}, zemm_u8),
                  tagged({rows, N}, zemm_f32, zemm_ab), attr);
}

} // namespace

int main() {
    static int8_t src[K * 100];
    static uint8_t wei[K * N], zero_point = 3;
    static float dst[N * 100];
    std::printf("engine: %.1f ms, with the OpenCL runtime's start\n", us_of(cpu) / 1e3);
    const auto stream = new_stream(), profiling = new_stream(cpu(), zemm_stream_profiling);
    for (const bool with_zero_point :
         {false, true}) { // with it, a kernel of its own computes the sums of src
        const auto attr = new_attr();
        if (with_zero_point)
            OK(zemm_primitive_attr_set_zero_points(attr, ZEMM_ARG_WEIGHTS, 0, 0, nullptr, zemm_u8));
        std::printf("1x%d:%dx%d s8:u8:f32, %s\n", K, K, N,
                    with_zero_point ? "weights zero point: two kernels" : "one kernel");
        std::printf("  first creation %.2f ms\n", us_of([&] { call(described(attr, 1)); }) / 1e3);
        const auto pd = described(attr, 1);
        measure("primitive descriptor", [&] { described(attr, 1); });
        measure("primitive, cache hit", [&] { made(zemm_primitive_create, pd); });
        call c(described(attr, 1));
        c.pass(ZEMM_ARG_SRC, src);
        c.pass(ZEMM_ARG_WEIGHTS, wei);
        c.pass(ZEMM_ARG_DST, dst);
        if (with_zero_point)
            c.pass(ZERO_POINTS(ZEMM_ARG_WEIGHTS), &zero_point, dense({1}, zemm_u8));
        std::vector<double> executions, waits;
        for (int i = 0; i < rounds; i++) {
            executions.push_back(us_of([&] { OK(c.execute(stream)); }));
            waits.push_back(executions.back() + us_of([&] { OK(zemm_stream_wait(stream)); }));
        }
        print("execute", executions);
        print("execute and wait", waits);
        measure("100 executions, then a wait", [&] {
            for (int i = 0; i < 100; i++)
                OK(c.execute(stream));
            OK(zemm_stream_wait(stream));
        });
        static uint64_t ns[rounds];
        int count = rounds;
        OK(zemm_reset_profiling(profiling));
        for (int i = 0; i < rounds; i++)
            c.run(profiling);
        OK(zemm_query_profiling_data(profiling, zemm_profiling_data_kind_time, &count, ns));
        std::vector<double> on_device;
        for (int i = 0; i < count; i++)
            on_device.push_back(double(ns[i]) * 1e-3);
        print("device time, by timestamps", on_device);
    }
    std::printf("Mx%d:%dx%d s8:u8:f32, M is a runtime dimension\n", K, K, N);
    std::vector<double> first, known;
    for (int round = 0; round < rounds / 100; round++) {
        const call open(described(nullptr, any));
        for (int rows = 1; rows <= 100; rows++) {
            call c(described(nullptr, rows), false);
            c.pass(ZEMM_ARG_SRC, src);
            c.pass(ZEMM_ARG_WEIGHTS, wei);
            c.pass(ZEMM_ARG_DST, dst);
            for (std::vector<double> *times : {&first, &known}) {
                times->push_back(
                    us_of([&] { OK(zemm_primitive_execute(open.primitive, stream, 3, c.args.data())); }));
                OK(zemm_stream_wait(stream));
            }
        }
    }
    print("execute, first use of a shape", first);
    print("execute, known shape", known);
}
