// SPDX-License-Identifier: Apache-2.0
// A matmul on a Level Zero program's own context, command list, events and memory. It goes through the real
// loader with the CPU driver of the build (ZE_ENABLE_ALT_DRIVERS, which meson sets).
#include <algorithm>
#include <cstring>

#include <dlfcn.h>

#include "zemm/zemm_ze.h"
#include "zemm_test.hpp"

namespace {

// Calls the loader's function, found at run time: the test is not linked with the loader.
void *loader = nullptr;
template <typename F> F *find(const char *name) {
    void *const symbol = dlsym(loader, name);
    CHECK(symbol);
    return reinterpret_cast<F *>(symbol);
}
#define ZE_RESULT(name, ...) find<decltype(name)>(#name)(__VA_ARGS__)
#define ZE(name, ...) CHECK(ZE_RESULT(name, __VA_ARGS__) == ZE_RESULT_SUCCESS)

constexpr int M = 3, K = 32, N = 17;

struct data {
    int8_t src[M][K];
    uint8_t wei[K][N], zero_point;
    float dst[M][N];

    void fill(unsigned state) {
        draw(src, state, -128, 127);
        draw(wei, state, 0, 255);
        zero_point = uint8_t(state);
        std::fill_n(&dst[0][0], M * N, -1e9f);
    }
    bool is_right() const {
        for (int m = 0; m < M; m++)
            for (int n = 0; n < N; n++) {
                int sum = 0;
                for (int k = 0; k < K; k++)
                    sum += src[m][k] * (wei[k][n] - zero_point);
                if (dst[m][n] != float(sum))
                    return false;
            }
        return true;
    }
};

call make(zemm_engine_t engine, const data &t) {
    const auto attr = new_attr();
    OK(zemm_primitive_attr_set_zero_points(attr, ZEMM_ARG_WEIGHTS, 0, 0, nullptr, zemm_u8));
    call c(matmul(dense({M, K}, zemm_s8), dense({K, N}, zemm_u8), dense({M, N}, zemm_f32), attr, nullptr,
                  engine));
    c.pass(ZEMM_ARG_SRC, t.src);
    c.pass(ZEMM_ARG_WEIGHTS, t.wei);
    c.pass(ZERO_POINTS(ZEMM_ARG_WEIGHTS), &t.zero_point, dense({1}, zemm_u8));
    c.pass(ZEMM_ARG_DST, t.dst);
    return c;
}

// Nothing runs before the events that it waits for are signalled. The work sees the results of what the
// caller appended before.
void check_execute(zemm_engine_t engine, zemm_stream_t stream, ze_command_list_handle_t list,
                   ze_event_handle_t *events, data &t) {
    t.fill(1);
    const call c = make(engine, t);
    ze_event_handle_t returned = events[0];
    const auto execute = [&](int ndeps, const ze_event_handle_t *deps, ze_event_handle_t *event,
                             int nargs = 4) {
        return zemm_ze_interop_primitive_execute(c.primitive, stream, nargs, c.args.data(), ndeps, deps,
                                                 event);
    };
    INVALID("ndeps is -1", execute(-1, events, nullptr));
    INVALID("deps", execute(1, nullptr, nullptr));
    INVALID("missing", execute(0, nullptr, &returned, 1));
    CHECK(returned == events[0]); // a failure does not change outputs

    int8_t new_src[M][K];
    unsigned state = 99;
    draw(new_src, state, -128, 127);
    ZE(zeCommandListAppendMemoryCopy, list, t.src, new_src, sizeof new_src, nullptr, 0, nullptr);
    OK(execute(2, events, &returned));
    CHECK(!returned);
    ZE(zeCommandListAppendBarrier, list, events[2], 0, nullptr); // behind the matmul
    CHECK(ZE_RESULT(zeEventHostSynchronize, events[2], 20000000) == ZE_RESULT_NOT_READY);
    ZE(zeEventHostSignal, events[1]);
    CHECK(ZE_RESULT(zeEventHostSynchronize, events[2], 20000000) == ZE_RESULT_NOT_READY); // one of two
    CHECK(std::count(&t.dst[0][0], &t.dst[0][0] + M * N, -1e9f) == M * N);
    ZE(zeEventHostSignal, events[0]);
    ZE(zeEventHostSynchronize, events[2], UINT64_MAX);
    CHECK(!std::memcmp(t.src, new_src, sizeof new_src) && t.is_right());
    for (int i = 0; i < 3; i++)
        ZE(zeEventHostReset, events[i]);

    t.dst[M - 1][N - 1] = -1; // without events, and with the ordinary function
    OK(execute(0, nullptr, nullptr));
    OK(zemm_stream_wait(stream));
    CHECK(t.is_right());
    t.fill(2);
    c.run(stream);
    CHECK(t.is_right());
}

void check_profiling(zemm_engine_t engine, ze_command_list_handle_t list, data &t) {
    const auto stream = made(zemm_ze_interop_stream_create, engine, list, 1);
    const auto query = [&](uint64_t *times) {
        int entries = 3;
        OK(zemm_query_profiling_data(stream, zemm_profiling_data_kind_time, &entries, times));
        return entries;
    };
    uint64_t times[3] = {};
    t.fill(3);
    const call c = make(engine, t);
    for (int i = 0; i < 3; i++)
        c.run(stream);
    CHECK(t.is_right());
    CHECK(query(nullptr) == 3 && query(times) == 3);
    CHECK(times[0] && times[1] && times[2]);
    int room = 2;
    INVALID("room", zemm_query_profiling_data(stream, zemm_profiling_data_kind_time, &room, times));
    OK(zemm_reset_profiling(stream));
    CHECK(query(nullptr) == 0);
}

} // namespace

TEST(a_program_of_level_zero) {
    loader = dlopen("libze_loader.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!loader) {
        std::printf("skipped: no Level Zero loader (%s): install the package libze1\n", dlerror());
        std::exit(SKIP);
    }
    CHECK(getenv("ZE_ENABLE_ALT_DRIVERS"));
    ZE(zeInit, 0);
    ze_driver_handle_t driver = got(zemm_ze_interop_engine_get_driver, cpu()), drivers[16];
    ze_device_handle_t device = got(zemm_ze_interop_engine_get_device, cpu());
    uint32_t count = 16;
    ZE(zeDriverGet, &count, drivers);
    CHECK(std::count(drivers, drivers + count, driver) == 1); // the CPU engine is a device of the loader

    const ze_context_desc_t context_desc{ZE_STRUCTURE_TYPE_CONTEXT_DESC, nullptr, 0};
    ze_context_handle_t context = nullptr;
    ZE(zeContextCreate, driver, &context_desc, &context);
    const ze_command_queue_desc_t queue_desc{
        ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC, nullptr, 0, 0, 0, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS,
        ZE_COMMAND_QUEUE_PRIORITY_NORMAL};
    ze_command_list_handle_t list = nullptr;
    ZE(zeCommandListCreateImmediate, context, device, &queue_desc, &list);
    const ze_event_pool_desc_t pool_desc{ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, nullptr,
                                         ZE_EVENT_POOL_FLAG_HOST_VISIBLE, 3};
    ze_event_pool_handle_t pool = nullptr;
    ZE(zeEventPoolCreate, context, &pool_desc, 1, &device, &pool);
    ze_event_handle_t events[3];
    for (uint32_t i = 0; i < 3; i++) {
        const ze_event_desc_t event_desc{ZE_STRUCTURE_TYPE_EVENT_DESC, nullptr, i, ZE_EVENT_SCOPE_FLAG_HOST,
                                         ZE_EVENT_SCOPE_FLAG_HOST};
        ZE(zeEventCreate, pool, &event_desc, &events[i]);
    }
    const ze_device_mem_alloc_desc_t device_desc{ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC, nullptr, 0, 0};
    const ze_host_mem_alloc_desc_t host_desc{ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC, nullptr, 0};
    void *shared = nullptr;
    ZE(zeMemAllocShared, context, &device_desc, &host_desc, sizeof(data), 64, device, &shared);
    {
        static data on_host;
        const auto engine = made(zemm_ze_interop_engine_create, driver, device, context);
        auto stream = made(zemm_ze_interop_stream_create, engine, list, 0);
        for (data *memory : {static_cast<data *>(shared), &on_host})
            check_execute(engine, stream, list, events, *memory);
        stream.end();
        check_profiling(engine, list, *static_cast<data *>(shared));
    }
    // The caller still owns the handles.
    ZE(zeMemFree, context, shared);
    for (ze_event_handle_t event : events)
        ZE(zeEventDestroy, event);
    ZE(zeEventPoolDestroy, pool);
    ZE(zeCommandListDestroy, list);
    ZE(zeContextDestroy, context);
}
