// SPDX-License-Identifier: Apache-2.0
// fork() while other threads create and execute primitives. The child uses the objects that it inherits, and
// creates its own.
//   test_fork FORKS
#include <atomic>
#include <thread>

#include "child.h"
#include "zemm_test.hpp"

namespace {

constexpr int M = 5, K = 64, N = 33;

const auto src_md = dense({M, K}, zemm_s8), wei_md = dense({K, N}, zemm_s8), dst_md = dense({M, N}, zemm_s32);
std::atomic<bool> stop;

void execute(zemm_primitive_t primitive, zemm_engine_t engine, zemm_stream_t stream, unsigned state) {
    int8_t src[M][K], wei[K][N];
    int32_t dst[M][N];
    draw(src, state, -128, 127);
    draw(wei, state, -128, 127);
    const auto s = made(zemm_memory_create, src_md, engine, src),
               w = made(zemm_memory_create, wei_md, engine, wei),
               d = made(zemm_memory_create, dst_md, engine, dst);
    const zemm_exec_arg_t args[] = {{ZEMM_ARG_SRC, s}, {ZEMM_ARG_WEIGHTS, w}, {ZEMM_ARG_DST, d}};
    OK(zemm_primitive_execute(primitive, stream, 3, args));
    OK(zemm_stream_wait(stream));
    for (int m = 0; m < M; m++)
        for (int n = 0; n < N; n++) {
            int sum = 0;
            for (int k = 0; k < K; k++)
                sum += src[m][k] * wei[k][n];
            CHECK(dst[m][n] == sum);
        }
}

own<zemm_primitive_t> create(zemm_engine_t engine, const tensor &weights = wei_md) {
    return made(zemm_primitive_create, matmul(src_md, weights, dst_md, nullptr, nullptr, engine));
}

void work(zemm_primitive_t shared, unsigned id) {
    const auto stream = new_stream();
    unsigned round = id;
    do {
        execute(create(cpu()), cpu(), stream, ++round);
        execute(shared, cpu(), stream, round);
    } while (!stop);
}

void use_in_child(zemm_primitive_t shared, zemm_stream_t its_stream) {
    execute(shared, cpu(), its_stream, 1);
    const auto fresh = made(zemm_engine_create, zemm_cpu, 0);
    const auto stream = new_stream(fresh);
    execute(create(fresh), fresh, stream, 2);
    create(fresh, tagged({K, N}, zemm_s8, zemm_ba)); // this kernel has not been built before
    stop = true;                                     // after one round
    std::thread(work, shared, 3u).join();
}

} // namespace

int main(int argc, char **argv) {
    const int forks = argc > 1 ? std::atoi(argv[1]) : 1;
    const auto stream = new_stream();
    const auto shared = create(cpu());
    OK(zemm_set_primitive_cache_capacity(1)); // so that threads also look up kernels
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < 3; i++)
        threads.emplace_back(work, zemm_primitive_t(shared), i);
    for (int i = 0; i < forks; i++)
        CHECK(in_child([&] { use_in_child(shared, stream); }) == 0);
    stop = true;
    for (std::thread &thread : threads)
        thread.join();
}
