// SPDX-License-Identifier: Apache-2.0
// A walk through the library, from an engine to its end, in which one request fails. Each
// allocation of libzemm.so and libze_cpu.so fails once. Each call of the driver fails once because
// memory ran out, and once because the device is lost. Each opening of a library fails once.
//
// Whatever fails, the call returns a status with a sentence, does not crash and leaves nothing
// behind, and the same call succeeds when it is repeated.
//   test_faults refusing_driver.so cold|warm
// cold: each point is a process of its own. It does everything that happens once in a process,
// builds modules and stores them on disk, and writes the log.
//
// warm: all points are in one process, on an engine that is created anew each time, with modules
// from disk. This mode detects what a fault leaves behind.
//
// A sample of the points is tried. ZEMM_TEST_FAULTS=all tries all of them,
// ZEMM_TEST_FAULTS=<kind>:<number> one (kind: allocation, memory, lost, opening).
#include <algorithm>
#include <cstring>
#include <deque>
#include <exception>
#include <filesystem>
#include <iterator>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "faults.h"
#include "refusing_driver.h"
#include "zemm/zemm_ze.h"

namespace {

// ---- what fails

struct fault {
    const char *name;
    faults::kind kind;
    ze_result_t result; // that the driver call returns
};
constexpr fault all_faults[] = {
    {"allocation", faults::kind::allocation, ZE_RESULT_SUCCESS},
    {"memory", faults::kind::driver_call, ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY},
    {"lost", faults::kind::driver_call, ZE_RESULT_ERROR_DEVICE_LOST},
    {"opening", faults::kind::opening, ZE_RESULT_SUCCESS},
};
ze_result_t call_result = ZE_RESULT_SUCCESS;

// Names of the driver calls since begin(), recorded without allocations.
const char *calls[4096];
int call_count = 0;

ze_result_t judge_call(const char *name) {
    const long before = faults::passed();
    const bool fails = faults::fails(faults::kind::driver_call);
    if (faults::passed() != before && call_count < int(std::size(calls)))
        calls[call_count++] = name;
    return fails ? call_result : ZE_RESULT_SUCCESS;
}

const refusing_driver *driver;

void open_driver(const char *path) {
    driver = new refusing_driver(path);
    void *const library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    reinterpret_cast<const char *(*)()>(dlsym(library, "zeCpuGetLastError"))(); // opens the wrapped driver
    driver->set_judges({.call = judge_call});
}

// ---- the walk

int failures = 0; // steps that failed in this walk

// Makes a call. If it fails, the call is made again and must succeed.
template <typename F> void step(const char *call, F &&body) {
    const auto attempt = [&] {
        const faults::inside here;
        return body();
    };
    zemm_status_t status = attempt();
    if (status == zemm_success)
        return;
    failures++;
    if (!faults::has_failed() || (status != zemm_out_of_memory && status != zemm_runtime_error) ||
        !*zemm_last_error())
        std::fprintf(stderr, "%s: status %d, \"%s\"\n", call, int(status), zemm_last_error());
    CHECK(faults::has_failed());
    CHECK(status == zemm_out_of_memory || status == zemm_runtime_error);
    CHECK(*zemm_last_error());
    status = attempt();
    if (status != zemm_success)
        std::fprintf(stderr, "%s, again: status %d, \"%s\"\n", call, int(status), zemm_last_error());
    CHECK(status == zemm_success);
}
#define STEP(call) step(#call, [&] { return call; })

// The output of a step must stay nullptr when the step fails.
template <typename T, typename F> T make(const char *call, F &&body) {
    T made = nullptr;
    step(call, [&] {
        CHECK(!made);
        return body(&made);
    });
    CHECK(made);
    return made;
}
#define MAKE(type, function, ...)                                                                            \
    make<type>(#function, [&](type *made) { return function(made __VA_OPT__(, ) __VA_ARGS__); })

constexpr zemm_dim_t m = 9, k = 32, n = 20;

struct data {
    std::vector<int8_t> src = std::vector<int8_t>(m * k);
    std::vector<uint8_t> wei = std::vector<uint8_t>(k * n);
    std::vector<float> scales = std::vector<float>(n), dst = std::vector<float>(m * n);
    uint8_t zero_point = 3;

    data() {
        for (size_t i = 0; i < src.size(); i++)
            src[i] = int8_t(i * 37 % 201 - 100);
        for (size_t i = 0; i < wei.size(); i++)
            wei[i] = uint8_t(i * 53 % 251);
        for (size_t i = 0; i < scales.size(); i++)
            scales[i] = float(1 << i % 3);
    }

    float expected(zemm_dim_t row, zemm_dim_t column) const {
        int sum = 0;
        for (zemm_dim_t i = 0; i < k; i++)
            sum += src[size_t(row * k + i)] * (wei[size_t(i * n + column)] - zero_point);
        return std::max(0.f, scales[size_t(column)] * float(sum));
    }
};

zemm_memory_desc_t dense(zemm_dim_t rows, zemm_dim_t columns, zemm_data_type_t dt) {
    const zemm_dims_t dims = {rows, columns};
    return MAKE(zemm_memory_desc_t, zemm_memory_desc_create_with_tag, 2, dims, dt, zemm_ab);
}

zemm_primitive_attr_t attributes() {
    const zemm_post_ops_t ops = MAKE(zemm_post_ops_t, zemm_post_ops_create);
    STEP(zemm_post_ops_append_eltwise(ops, zemm_eltwise_relu, 0.f, 0.f));
    const zemm_primitive_attr_t attr = MAKE(zemm_primitive_attr_t, zemm_primitive_attr_create);
    STEP(zemm_primitive_attr_set_post_ops(attr, ops));
    STEP(zemm_primitive_attr_set_scales_mask(attr, ZEMM_ARG_WEIGHTS, 2));
    STEP(zemm_primitive_attr_set_zero_points(attr, ZEMM_ARG_WEIGHTS, 0, 0, nullptr, zemm_u8));
    STEP(zemm_post_ops_destroy(ops));
    return attr;
}

// Copies through a mapping, because memory of a GPU may need one.
void copy_to(zemm_memory_t memory, const void *from, size_t size) {
    void *to =
        make<void *>("zemm_memory_map_data", [&](void **p) { return zemm_memory_map_data(memory, p); });
    std::memcpy(to, from, size);
    STEP(zemm_memory_unmap_data(memory, to));
}

// Weights in the layout that the matmul wants, made by a reorder.
zemm_memory_t packed(zemm_engine_t engine, zemm_stream_t stream, const_zemm_memory_desc_t plain,
                     const_zemm_memory_desc_t wanted, const void *values) {
    const zemm_memory_t from = MAKE(zemm_memory_t, zemm_memory_create, plain, engine,
                                    const_cast<void *>(values)),
                        to = MAKE(zemm_memory_t, zemm_memory_create, wanted, engine, ZEMM_MEMORY_ALLOCATE);
    const zemm_primitive_desc_t pd = MAKE(zemm_primitive_desc_t, zemm_reorder_primitive_desc_create, plain,
                                          engine, wanted, engine, nullptr);
    const zemm_primitive_t reorder = MAKE(zemm_primitive_t, zemm_primitive_create, pd);
    const zemm_exec_arg_t args[] = {{ZEMM_ARG_FROM, from}, {ZEMM_ARG_TO, to}};
    STEP(zemm_primitive_execute(reorder, stream, 2, args));
    STEP(zemm_primitive_destroy(reorder));
    STEP(zemm_primitive_desc_destroy(pd));
    STEP(zemm_memory_destroy(from));
    return to;
}

void walk_objects(zemm_engine_t engine) {
    const data d;
    const char *text = nullptr;
    STEP(zemm_engine_get_name(engine, &text));
    STEP(zemm_engine_get_features(engine, &text));
    const zemm_stream_t stream =
        MAKE(zemm_stream_t, zemm_stream_create, engine, zemm_stream_in_order | zemm_stream_profiling);
    const zemm_memory_desc_t src_md = dense(m, k, zemm_s8), plain = dense(k, n, zemm_u8),
                             dst_md = dense(m, n, zemm_f32), scales_md = dense(1, n, zemm_f32);
    const zemm_dims_t wei_dims = {k, n};
    const zemm_memory_desc_t any =
        MAKE(zemm_memory_desc_t, zemm_memory_desc_create_with_tag, 2, wei_dims, zemm_u8, zemm_format_tag_any);
    const zemm_primitive_attr_t attr = attributes();
    const zemm_primitive_desc_t first = MAKE(zemm_primitive_desc_t, zemm_matmul_primitive_desc_create, engine,
                                             src_md, any, nullptr, dst_md, attr),
                                pd = MAKE(zemm_primitive_desc_t, zemm_primitive_desc_clone, first);
    zemm_status_t moved = zemm_success;
    step("zemm_primitive_desc_next_impl", [&] {
        moved = zemm_primitive_desc_next_impl(first);
        return moved == zemm_last_impl_reached ? zemm_success : moved;
    });
    const_zemm_memory_desc_t wanted = zemm_primitive_desc_query_md(pd, zemm_query_weights_md, 0);
    const zemm_primitive_t matmul = MAKE(zemm_primitive_t, zemm_primitive_create, pd);

    const zemm_memory_t src = MAKE(zemm_memory_t, zemm_memory_create, src_md, engine, ZEMM_MEMORY_ALLOCATE),
                        dst = MAKE(zemm_memory_t, zemm_memory_create, dst_md, engine, ZEMM_MEMORY_ALLOCATE),
                        scales = MAKE(zemm_memory_t, zemm_memory_create, scales_md, engine,
                                      const_cast<float *>(d.scales.data()));
    const zemm_dim_t one = 1;
    const zemm_memory_desc_t zp_md =
        MAKE(zemm_memory_desc_t, zemm_memory_desc_create_with_tag, 1, &one, zemm_u8, zemm_a);
    uint8_t zero_point = d.zero_point;
    const zemm_memory_t zp = MAKE(zemm_memory_t, zemm_memory_create, zp_md, engine, &zero_point);
    copy_to(src, d.src.data(), d.src.size());
    const zemm_memory_t wei = packed(engine, stream, plain, wanted, d.wei.data());

    STEP(zemm_reset_profiling(stream));
    const zemm_exec_arg_t args[] = {{ZEMM_ARG_SRC, src},
                                    {ZEMM_ARG_WEIGHTS, wei},
                                    {ZEMM_ARG_DST, dst},
                                    {ZEMM_ARG_ATTR_SCALES | ZEMM_ARG_WEIGHTS, scales},
                                    {ZEMM_ARG_ATTR_ZERO_POINTS | ZEMM_ARG_WEIGHTS, zp}};
    STEP(zemm_primitive_execute(matmul, stream, 5, args));
    STEP(zemm_stream_wait(stream));
    uint64_t times[4];
    int entries = 4;
    STEP(zemm_query_profiling_data(stream, zemm_profiling_data_kind_time, &entries, times));
    CHECK(entries == 1 || (entries == 2 && failures)); // a failed execution may have launched a kernel
    const float *result = static_cast<float *>(
        make<void *>("zemm_memory_map_data", [&](void **p) { return zemm_memory_map_data(dst, p); }));
    for (zemm_dim_t row = 0; row < m; row++)
        for (zemm_dim_t column = 0; column < n; column++)
            CHECK(result[row * n + column] == d.expected(row, column));
    STEP(zemm_memory_unmap_data(dst, const_cast<float *>(result)));

    // The objects are destroyed while the second execution may still run.
    STEP(zemm_primitive_execute(matmul, stream, 5, args));
    for (zemm_memory_t memory : {src, wei, dst})
        STEP(zemm_memory_destroy(memory));
    STEP(zemm_primitive_destroy(matmul));
    for (zemm_primitive_desc_t desc : {first, pd})
        STEP(zemm_primitive_desc_destroy(desc));
    STEP(zemm_stream_destroy(stream));
    for (zemm_memory_t memory : {scales, zp})
        STEP(zemm_memory_destroy(memory));
    STEP(zemm_primitive_attr_destroy(attr));
    for (zemm_memory_desc_t md : {src_md, plain, dst_md, scales_md, any, zp_md})
        STEP(zemm_memory_desc_destroy(md));
}

long points_of_engine = 0; // number of points of a walk before the engine exists

void walk(bool is_whole) {
    size_t count = 0;
    step("zemm_engine_get_count", [&] {
        count = zemm_engine_get_count(zemm_cpu);
        return count ? zemm_success : zemm_out_of_memory; // zemm_last_error() says which
    });
    const zemm_engine_t engine = MAKE(zemm_engine_t, zemm_engine_create, zemm_cpu, 0);
    points_of_engine = faults::passed();
    if (is_whole)
        walk_objects(engine);
    STEP(zemm_engine_destroy(engine));
}

// The same walk on an engine that adopts the context of another one.
void walk_adopted(zemm_engine_t of) {
    ze_driver_handle_t driver = nullptr;
    ze_device_handle_t device = nullptr;
    ze_context_handle_t context = nullptr;
    STEP(zemm_ze_interop_engine_get_driver(of, &driver));
    STEP(zemm_ze_interop_engine_get_device(of, &device));
    STEP(zemm_ze_interop_engine_get_context(of, &context));
    const zemm_engine_t engine = MAKE(zemm_engine_t, zemm_ze_interop_engine_create, driver, device, context);
    walk_objects(engine);
    STEP(zemm_engine_destroy(engine));
}

// ---- points

struct live {
    int handles;
    long blocks, opencl;
    bool operator==(const live &) const = default;
};

live count() {
    return {driver->count_live(), faults::live_blocks(), faults::live_opencl_objects()};
}

// The point that is being tried. A debugger shows it after a crash.
char current_point[64] = "";

void begin(const fault &f, long number) {
    if (number >= 0)
        std::snprintf(current_point, sizeof current_point, "%s:%ld", f.name, number);
    failures = 0;
    call_count = 0;
    call_result = f.result;
    faults::plan(f.kind, number);
}

// The value of ZEMM_TEST_FAULTS: "all", "<kind>:<number>" or "".
std::string wish() {
    const char *value = std::getenv("ZEMM_TEST_FAULTS");
    return value ? value : "";
}

// The numbers of the points to try, after a walk without a fault. A sample has about `most` points:
// allocations at equal distances, or the first and the last call of each of the driver's functions.
std::vector<long> choose(const fault &f, long most) {
    const std::string wanted = wish(), prefix = std::string(f.name) + ":";
    const long points = faults::passed();
    std::vector<long> numbers;
    if (wanted.starts_with(prefix)) {
        numbers = {std::atol(wanted.c_str() + prefix.size())};
    } else if (wanted == "all") {
        for (long i = 0; i < points; i++)
            numbers.push_back(i);
    } else if (wanted.empty() && f.kind == faults::kind::driver_call) {
        const auto is = [](const char *name) { return [name](const char *other) { return name == other; }; };
        for (int i = 0; i < call_count && long(numbers.size()) < most; i++)
            if (std::none_of(calls, calls + i, is(calls[i])) ||
                std::none_of(calls + i + 1, calls + call_count, is(calls[i])))
                numbers.push_back(i);
    } else if (wanted.empty()) {
        const long stride = std::max(1l, points / most);
        for (long i = stride / 2; i < points; i += stride)
            numbers.push_back(i);
    }
    std::fprintf(stderr, "%s: %zu of %ld points\n", f.name, numbers.size(), points);
    return numbers;
}

// A temporary folder for modules, which the destructor removes.
struct cache_folder {
    cache_folder() {
        char name[] = "/tmp/zemm-faults-XXXXXX";
        CHECK(mkdtemp(name));
        path = name;
        setenv("ZEMM_CACHE", "1", 1);
        setenv("ZEMM_CACHE_DIR", name, 1);
    }
    ~cache_folder() { std::filesystem::remove_all(path); }
    std::filesystem::path path;
};

// Starts a process that runs the body and ends.
template <typename F> pid_t start_child(F &&body) {
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        alarm(120);
        body();
        std::fflush(nullptr);
        _exit(0);
    }
    return child;
}

// Waits until the process has ended, and returns its exit status.
int wait_for(pid_t child) {
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    return status;
}

// Starts a walk with one fault in a process of its own.
pid_t start_cold_walk(const char *path, const fault &f, long number, bool is_whole, FILE *answer = nullptr) {
    return start_child([&] {
        const cache_folder folder;
        CHECK(std::freopen("/dev/null", "w", stdout)); // the log goes to stdout
        open_driver(path);
        begin(f, number);
        walk(is_whole);
        if (!answer) {
            CHECK(faults::has_failed());
            return;
        }
        std::fprintf(answer, "%ld\n", points_of_engine);
        for (long chosen : choose(f, f.kind == faults::kind::allocation ? 8 : 5))
            std::fprintf(answer, "%ld\n", chosen);
        std::fflush(answer);
    });
}

int cold(const char *path) {
    const size_t at_once = std::max(1u, std::thread::hardware_concurrency());
    int bad = 0;
    setenv("ZEMM_VERBOSE", "all", 1);
    setenv("ZEMM_KERNEL", "matmul_any_any_any_8x1x16_generic", 1); // the kernel that builds fastest
    for (const fault &f : all_faults) {
        FILE *const answer = std::tmpfile();
        CHECK(answer && wait_for(start_cold_walk(path, f, -1, true, answer)) == 0);
        std::rewind(answer);
        long of_engine = 0, number = 0;
        CHECK(std::fscanf(answer, "%ld", &of_engine) == 1);
        std::deque<std::pair<pid_t, long>> running;
        const auto end_oldest = [&] {
            const auto [child, point] = running.front();
            running.pop_front();
            if (const int status = wait_for(child)) {
                std::fprintf(stderr, "%s:%ld: exit status 0x%x\n", f.name, point, unsigned(status));
                bad++;
            }
        };
        while (std::fscanf(answer, "%ld", &number) == 1) {
            running.emplace_back(start_cold_walk(path, f, number, number >= of_engine), number);
            if (running.size() == at_once)
                end_oldest();
        }
        while (!running.empty())
            end_oldest();
        std::fclose(answer);
    }
    return bad;
}

int warm(const char *path) {
    const cache_folder folder;
    setenv("ZEMM_VERBOSE", "none", 1);
    open_driver(path);
    const zemm_engine_t engine = MAKE(zemm_engine_t, zemm_engine_create, zemm_cpu, 0);
    int bad = 0;
    for (const fault &f : all_faults) {
        for (int i = 0; i < 3; i++) { // until everything that lives as long as the process exists
            begin(f, -1);
            walk_adopted(engine);
        }
        live usual = count();
        for (long number : choose(f, 60)) {
            // Something that is created once does not grow again. Something that grows with each
            // attempt is a leak.
            int grown = 0;
            for (int i = 0; i < 3 && grown == i; i++) {
                faults::mark_blocks();
                begin(f, number);
                walk_adopted(engine);
                begin(f, -1);
                walk_adopted(engine);
                const live now = count();
                grown +=
                    now.handles > usual.handles || now.blocks > usual.blocks || now.opencl > usual.opencl;
                usual = now;
            }
            if (grown == 3) {
                std::fprintf(stderr,
                             "%s:%ld leaves something behind: %d handles, %ld blocks, %ld OpenCL objects\n",
                             f.name, number, usual.handles, usual.blocks, usual.opencl);
                driver->print_live();
                faults::print_blocks();
                bad++;
            }
        }
    }
    STEP(zemm_engine_destroy(engine));
    return bad;
}

} // namespace

int main(int argc, char **argv) {
    if (argc != 3)
        return 2;
    std::set_terminate([] {
        std::fprintf(stderr, "an exception is not caught at %s\n", current_point);
        std::abort();
    });
    setenv("ZEMM_CPU_DRIVER", argv[1], 1);
    if (wait_for(start_child([] {
            if (!zemm_engine_get_count(zemm_cpu))
                _exit(SKIP);
        }))) {
        std::printf("no CPU device\n");
        return SKIP;
    }
    const int bad = std::strcmp(argv[2], "cold") ? warm(argv[1]) : cold(argv[1]);
    if (bad)
        std::fprintf(stderr, "%d points\n", bad);
    return bad ? 1 : 0;
}
