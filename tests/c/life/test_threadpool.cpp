// SPDX-License-Identifier: Apache-2.0
// Streams whose work the threads of the program do.
#include <algorithm>
#include <atomic>
#include <cfenv>
#include <filesystem>
#include <functional>
#include <limits>
#include <pthread.h>
#include <thread>
#include <vector>

#include "zemm_test.hpp"

namespace {

constexpr zemm_dim_t M = 70, K = 512, N = 1040, group = 32;

using work = std::function<void(int)>;

// What the program does with the calls 0 to n - 1.
struct threadpool {
    int threads;
    std::function<void(int n, const work &)> all;
    std::atomic<int> calls{0};

    threadpool(int count, std::function<void(int, const work &)> how) : threads(count), all(std::move(how)) {}

    zemm_threadpool_t functions() {
        return {[](void *pool) { return static_cast<threadpool *>(pool)->threads; },
                [](void *pool, int n, void (*work)(int, int, void *), void *argument) {
                    auto &self = *static_cast<threadpool *>(pool);
                    CHECK(n > 1 && n <= self.threads);
                    self.all(n, [&](int i) {
                        ++self.calls;
                        work(i, n, argument);
                    });
                },
                this};
    }
    own<zemm_stream_t> stream() {
        const zemm_threadpool_t lent = functions();
        return made(zemm_threadpool_interop_stream_create, cpu(), &lent);
    }
};

void one_after_another(int n, const work &call) {
    for (int i = n; i-- > 0;)
        call(i);
}

void at_once(int n, const work &call) {
    std::vector<std::thread> all;
    for (int i = 0; i < n; i++)
        all.emplace_back([&call, i] { call(i); });
    for (std::thread &one : all)
        one.join();
}

void on_small_stacks(int n, const work &call) {
    struct task {
        const work &call;
        int i;
    };
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, size_t(64) << 10);
    for (int i = 0; i < n; i++) {
        task one{call, i};
        pthread_t thread;
        const auto body = [](void *of) -> void * {
            static_cast<task *>(of)->call(static_cast<task *>(of)->i);
            return nullptr;
        };
        CHECK(pthread_create(&thread, &attributes, body, &one) == 0);
        CHECK(pthread_join(thread, nullptr) == 0);
    }
    pthread_attr_destroy(&attributes);
}

void with_other_rounding(int n, const work &call) {
    const auto round_up = [&](int i) {
        std::fesetround(FE_UPWARD);
        call(i);
        CHECK(std::fegetround() == FE_UPWARD);
        std::fesetround(FE_TONEAREST);
    };
    at_once(n, round_up);
}

// dst of s8 activations, quantised here, by packed s8 weights: three primitives. is_over: executions are over
// on return.
std::vector<float> compute(zemm_stream_t stream, bool is_over = true) {
    unsigned state = 3;
    std::vector<float> src(M * K), scales(M * K / group), dst(M * N, -1.f);
    std::vector<int8_t> values(M * K), weights(K * N);
    draw(src, state, -1000, 1000);
    draw(weights, state, -128, 127);
    const auto attr = new_attr();
    const zemm_dims_t groups = {1, group};
    OK(zemm_primitive_attr_set_scales(attr, ZEMM_ARG_SRC, 3, 2, groups, zemm_f32));
    const auto values_md = dense({M, K}, zemm_s8), wei_md = dense({K, N}, zemm_s8);
    const auto any = tagged({K, N}, zemm_s8, zemm_format_tag_any);
    call product(matmul(values_md, any, dense({M, N}, zemm_f32), attr));
    const auto packed_md = zemm_primitive_desc_query_md(product.pd, zemm_query_weights_md, 0);
    std::vector<char> packed(zemm_memory_desc_get_size(packed_md));
    call pack(made(zemm_reorder_primitive_desc_create, wei_md, cpu(), packed_md, cpu(), nullptr));
    call quantize(made(zemm_dynamic_quantize_primitive_desc_create, cpu(), zemm_dynamic_quantize_symmetric,
                       dense({M, K}, zemm_f32), values_md, dense({M, K / group}, zemm_f32), nullptr, nullptr,
                       nullptr));
    pack.pass(ZEMM_ARG_FROM, weights.data());
    pack.pass(ZEMM_ARG_TO, packed.data());
    quantize.pass(ZEMM_ARG_SRC, src.data());
    quantize.pass(ZEMM_ARG_DST, values.data());
    quantize.pass(ZEMM_ARG_DYNAMIC_SCALE, scales.data());
    product.pass(ZEMM_ARG_SRC, values.data());
    product.pass(SCALES(ZEMM_ARG_SRC), scales.data());
    product.pass(ZEMM_ARG_WEIGHTS, packed.data());
    product.pass(ZEMM_ARG_DST, dst.data());
    for (const call *one : {&pack, &quantize, &product})
        OK(is_over ? one->execute(stream) : (one->run(stream), zemm_success));
    return dst;
}

std::vector<float> expected() {
    return compute(new_stream(), false);
}

auto threads_of_process() {
    const std::filesystem::directory_iterator tasks("/proc/self/task");
    return std::distance(begin(tasks), end(tasks));
}

} // namespace

// The process has no more threads afterwards, as it has after work on another stream: nobody else has helped.
TEST(threads_of_the_program_compute) {
    cpu();
    threadpool pool(3, at_once);
    const auto stream = pool.stream();
    const auto before = threads_of_process();
    const auto dst = compute(stream);
    CHECK(threads_of_process() == before);
    CHECK(pool.calls >= 3 * 2);
    CHECK(dst == expected());
    CHECK(threads_of_process() > before || got(zemm_get_num_threads) == 1);
}

TEST(any_pool) {
    const auto right = expected();
    const std::function<void(int, const work &)> ways[] = {one_after_another, at_once, on_small_stacks,
                                                           with_other_rounding};
    for (const auto &way : ways)
        for (const int threads : {2, 5, 1000}) {
            threadpool pool(threads, way);
            CHECK(compute(pool.stream()) == right);
            CHECK(pool.calls > 0);
        }
    for (const int threads : {std::numeric_limits<int>::min(), 0, 1}) {
        threadpool pool(threads, at_once);
        CHECK(compute(pool.stream()) == right);
        CHECK(pool.calls == 0);
    }
}

TEST(number_of_threads_changes) {
    const auto right = expected();
    threadpool pool(1, at_once);
    const auto stream = pool.stream();
    for (const int threads : {1, 4, 2}) {
        pool.threads = threads;
        CHECK(compute(stream) == right);
    }
}

TEST(refused) {
    zemm_stream_t stream = nullptr;
    threadpool pool(2, at_once);
    zemm_threadpool_t lent = pool.functions();
    INVALID("threadpool is NULL", zemm_threadpool_interop_stream_create(&stream, cpu(), nullptr));
    INVALID("engine is NULL", zemm_threadpool_interop_stream_create(&stream, nullptr, &lent));
    lent.parallel_for = nullptr;
    INVALID("lacks get_num_threads or parallel_for",
            zemm_threadpool_interop_stream_create(&stream, cpu(), &lent));
    CHECK(!stream);
}
