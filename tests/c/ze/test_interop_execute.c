/* SPDX-License-Identifier: Apache-2.0 */
/* A matmul on a Level Zero program's own context, command list, events and memory. It goes through
 * the real loader with the CPU driver of the build (ZE_ENABLE_ALT_DRIVERS, which meson sets). */
#include <dlfcn.h>

#include "matmul_call.h"
#include "zemm/zemm_ze.h"

/* The loader's functions, found at run time. The test is not linked with the loader. */
#define FUNCTIONS(X)                                                                                         \
    X(zeInit)                                                                                                \
    X(zeDriverGet)                                                                                           \
    X(zeContextCreate)                                                                                       \
    X(zeContextDestroy)                                                                                      \
    X(zeCommandListCreateImmediate)                                                                          \
    X(zeCommandListDestroy)                                                                                  \
    X(zeCommandListAppendMemoryCopy)                                                                         \
    X(zeCommandListAppendBarrier)                                                                            \
    X(zeEventPoolCreate)                                                                                     \
    X(zeEventPoolDestroy)                                                                                    \
    X(zeEventCreate)                                                                                         \
    X(zeEventDestroy)                                                                                        \
    X(zeEventHostSignal)                                                                                     \
    X(zeEventHostSynchronize)                                                                                \
    X(zeEventHostReset)                                                                                      \
    X(zeMemAllocShared)                                                                                      \
    X(zeMemFree)

static struct {
#define DECLARE(name) __typeof__(&name) name;
    FUNCTIONS(DECLARE)
#undef DECLARE
} ze;

#define ZE(call) CHECK(ze.call == ZE_RESULT_SUCCESS)

static void look_up(void *loader) {
    void *symbol;
#define LOOK_UP(name)                                                                                        \
    symbol = dlsym(loader, #name);                                                                           \
    CHECK(symbol);                                                                                           \
    memcpy(&ze.name, &symbol, sizeof symbol);
    FUNCTIONS(LOOK_UP)
#undef LOOK_UP
}

enum { M = 3, K = 32, N = 17 };

struct data {
    int8_t src[M][K];
    uint8_t wei[K][N];
    uint8_t zp;
    float dst[M][N];
};

static void fill(struct data *t, unsigned state) {
    for (int i = 0; i < M * K; i++)
        (&t->src[0][0])[i] = (int8_t)next_int(&state, -128, 127);
    for (int i = 0; i < K * N; i++)
        (&t->wei[0][0])[i] = (uint8_t)next_int(&state, 0, 255);
    t->zp = (uint8_t)next_int(&state, 0, 255);
    memset(t->dst, 0xff, sizeof t->dst);
}

static int right(const struct data *t) {
    for (int m = 0; m < M; m++)
        for (int n = 0; n < N; n++) {
            int sum = 0;
            for (int k = 0; k < K; k++)
                sum += t->src[m][k] * (t->wei[k][n] - t->zp);
            if (t->dst[m][n] != (float)sum)
                return 0;
        }
    return 1;
}

static void make(struct call *c, zemm_engine_t engine, struct data *t) {
    zemm_primitive_attr_t attr = new_attr();
    zemm_memory_desc_t s = dense(2, DIMS(M, K), zemm_s8), w = dense(2, DIMS(K, N), zemm_u8),
                       d = dense(2, DIMS(M, N), zemm_f32);
    OK(zemm_primitive_attr_set_zero_points(attr, ZEMM_ARG_WEIGHTS, 0, 0, NULL, zemm_u8));
    call_make(c, engine, s, w, NULL, d, attr);
    DESTROY(attr, s, w, d);
    call_arg(c, ZEMM_ARG_SRC, t->src);
    call_arg(c, ZEMM_ARG_WEIGHTS, t->wei);
    call_value(c, ZERO_POINTS(ZEMM_ARG_WEIGHTS), zemm_u8, &t->zp);
    call_arg(c, ZEMM_ARG_DST, t->dst);
}

/* Nothing runs before the events that it waits for are signalled. The work sees the results of what
 * the caller appended before. */
static void test_execute(zemm_engine_t engine, zemm_stream_t stream, ze_command_list_handle_t list,
                         ze_event_handle_t *events, struct data *t) {
    struct call c;
    static int8_t new_src[M][K];
    unsigned state = 99;
    ze_event_handle_t returned = events[0];
    fill(t, 1);
    make(&c, engine, t);
#define EXECUTE(ndeps, deps, event)                                                                          \
    zemm_ze_interop_primitive_execute(c.primitive, stream, c.nargs, c.args, ndeps, deps, event)
    INVALID("ndeps is -1", EXECUTE(-1, events, NULL));
    INVALID("deps", EXECUTE(1, NULL, NULL));
    INVALID("missing", zemm_ze_interop_primitive_execute(c.primitive, stream, 1, c.args, 0, NULL, &returned));
    CHECK(returned == events[0]); /* a failure does not change outputs */

    for (int i = 0; i < M * K; i++)
        (&new_src[0][0])[i] = (int8_t)next_int(&state, -128, 127);
    ZE(zeCommandListAppendMemoryCopy(list, t->src, new_src, sizeof new_src, NULL, 0, NULL));
    OK(EXECUTE(2, events, &returned));
    CHECK(!returned);
    ZE(zeCommandListAppendBarrier(list, events[2], 0, NULL)); /* behind the matmul */
    CHECK(ze.zeEventHostSynchronize(events[2], 20000000) == ZE_RESULT_NOT_READY);
    ZE(zeEventHostSignal(events[1]));
    CHECK(ze.zeEventHostSynchronize(events[2], 20000000) == ZE_RESULT_NOT_READY); /* one of two */
    const unsigned char *bytes = (const unsigned char *)t->dst;
    for (size_t i = 0; i < sizeof t->dst; i++)
        CHECK(bytes[i] == 0xff);
    ZE(zeEventHostSignal(events[0]));
    ZE(zeEventHostSynchronize(events[2], UINT64_MAX));
    CHECK(!memcmp(t->src, new_src, sizeof new_src) && right(t));
    for (int i = 0; i < 3; i++)
        ZE(zeEventHostReset(events[i]));

    memset(t->dst, 0xff, sizeof t->dst); /* without events, and with the ordinary function */
    OK(EXECUTE(0, NULL, NULL));
    OK(zemm_stream_wait(stream));
    CHECK(right(t));
    fill(t, 2);
    call_run(&c, stream);
    CHECK(right(t));
#undef EXECUTE
    call_free(&c);
}

static void test_profiling(zemm_engine_t engine, ze_command_list_handle_t list, struct data *t) {
    struct call c;
    zemm_stream_t stream = NULL;
    int entries = -1;
    uint64_t times[3] = {0};
    OK(zemm_ze_interop_stream_create(&stream, engine, list, 1));
    fill(t, 3);
    make(&c, engine, t);
    for (int i = 0; i < 3; i++)
        call_run(&c, stream);
    CHECK(right(t));
    OK(zemm_query_profiling_data(stream, zemm_profiling_data_kind_time, &entries, NULL));
    CHECK(entries == 3);
    OK(zemm_query_profiling_data(stream, zemm_profiling_data_kind_time, &entries, times));
    CHECK(times[0] && times[1] && times[2]);
    OK(zemm_reset_profiling(stream));
    OK(zemm_query_profiling_data(stream, zemm_profiling_data_kind_time, &entries, NULL));
    CHECK(entries == 0);
    call_free(&c);
    OK(zemm_stream_destroy(stream));
}

int main(void) {
    zemm_engine_t from_getters = NULL, engine = NULL;
    zemm_stream_t stream = NULL;
    ze_driver_handle_t driver = NULL, drivers[16];
    ze_device_handle_t device = NULL;
    ze_context_handle_t context = NULL;
    ze_command_list_handle_t list = NULL;
    ze_event_pool_handle_t pool = NULL;
    ze_event_handle_t events[3];
    uint32_t count = COUNT(drivers), found = 0;
    void *shared = NULL;
    static struct data on_host;
    void *loader = dlopen("libze_loader.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!loader) {
        printf("skipped: no Level Zero loader (%s): install the package libze1\n", dlerror());
        return SKIP;
    }
    CHECK(getenv("ZE_ENABLE_ALT_DRIVERS"));
    look_up(loader);
    ZE(zeInit(0));
    OK(zemm_engine_create(&from_getters, zemm_cpu, 0));
    OK(zemm_ze_interop_engine_get_driver(from_getters, &driver));
    OK(zemm_ze_interop_engine_get_device(from_getters, &device));
    ZE(zeDriverGet(&count, drivers));
    for (uint32_t i = 0; i < count; i++)
        found += drivers[i] == driver;
    CHECK(found == 1); /* the CPU engine is a device of the loader */

    const ze_context_desc_t context_desc = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};
    ZE(zeContextCreate(driver, &context_desc, &context));
    const ze_command_queue_desc_t queue_desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
                                                .mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS};
    ZE(zeCommandListCreateImmediate(context, device, &queue_desc, &list));
    const ze_event_pool_desc_t pool_desc = {
        .stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, .flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE, .count = 3};
    ZE(zeEventPoolCreate(context, &pool_desc, 1, &device, &pool));
    for (uint32_t i = 0; i < 3; i++) {
        const ze_event_desc_t event_desc = {.stype = ZE_STRUCTURE_TYPE_EVENT_DESC,
                                            .index = i,
                                            .signal = ZE_EVENT_SCOPE_FLAG_HOST,
                                            .wait = ZE_EVENT_SCOPE_FLAG_HOST};
        ZE(zeEventCreate(pool, &event_desc, &events[i]));
    }
    const ze_device_mem_alloc_desc_t device_desc = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
    const ze_host_mem_alloc_desc_t host_desc = {.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
    ZE(zeMemAllocShared(context, &device_desc, &host_desc, sizeof(struct data), 64, device, &shared));

    OK(zemm_ze_interop_engine_create(&engine, driver, device, context));
    OK(zemm_ze_interop_stream_create(&stream, engine, list, 0));
    test_execute(engine, stream, list, events, shared);
    test_execute(engine, stream, list, events, &on_host);
    OK(zemm_stream_destroy(stream));
    test_profiling(engine, list, shared);
    DESTROY(engine, from_getters);

    /* the caller still owns the handles */
    ZE(zeMemFree(context, shared));
    for (int i = 0; i < 3; i++)
        ZE(zeEventDestroy(events[i]));
    ZE(zeEventPoolDestroy(pool));
    ZE(zeCommandListDestroy(list));
    ZE(zeContextDestroy(context));
    return 0;
}
