// SPDX-License-Identifier: Apache-2.0
// A walk through the library, from an engine to its end, in which one request fails. Each
// allocation of libzemm.so and libze_cpu.so fails once. Each call of the driver fails once because
// memory ran out, and once because the device is lost. Each opening of a library fails once.
//
// Whatever fails, the call returns a status with a sentence, does not crash and leaves nothing
// behind, and the same call succeeds when it is repeated.
//   test_faults refusing_driver.so cold|warm|cases
// cold: each point is a process of its own. It does everything that happens once in a process,
// builds modules and stores them on disk, and writes the log.
//
// warm: all points are in one process, on an engine that is created anew each time, with modules
// from disk. This mode detects what a fault leaves behind.
//
// cases: as warm, but each allocation of the cases of cases.cpp fails, on an engine that lives on. Each case
// is also the first one on an engine.
//
// A sample of the points is tried. ZEMM_TEST_FAULTS=all tries all of them,
// ZEMM_TEST_FAULTS=<kind>:<number> one (kind: allocation, memory, lost, opening).
#include <algorithm>
#include <climits>
#include <cstring>
#include <deque>
#include <exception>
#include <filesystem>
#include <functional>
#include <iterator>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <dlfcn.h>
#include <unistd.h>

#include "steps.hpp"

#include "child.h"
#include "refusing_driver.h"

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

constexpr zemm_dim_t m = 9, k = 32, n = 20;

struct data {
    int8_t src[m][k];
    uint8_t wei[k][n], zero_point = 3;
    float scales[n];

    data() {
        unsigned state = 5;
        draw(src, state, -100, 100);
        draw(wei, state, 0, 250);
        draw(scales, state, 1, 3);
    }

    float expected(zemm_dim_t row, zemm_dim_t column) const {
        int sum = 0;
        for (zemm_dim_t i = 0; i < k; i++)
            sum += src[row][i] * (wei[i][column] - zero_point);
        return std::max(0.f, scales[column] * float(sum));
    }
};

own<zemm_primitive_attr_t> attributes() {
    const auto ops = made(zemm_post_ops_create);
    MUST(zemm_post_ops_append_eltwise(ops, zemm_eltwise_relu, 0.f, 0.f));
    auto attr = new_attr();
    MUST(zemm_primitive_attr_set_post_ops(attr, ops));
    MUST(zemm_primitive_attr_set_scales_mask(attr, ZEMM_ARG_WEIGHTS, 2));
    MUST(zemm_primitive_attr_set_zero_points(attr, ZEMM_ARG_WEIGHTS, 0, 0, nullptr, zemm_u8));
    return attr;
}

// Weights in the layout that the matmul wants, made by a reorder.
own<zemm_memory_t> packed(zemm_engine_t engine, zemm_stream_t stream, const_zemm_memory_desc_t wanted,
                          const data &d) {
    call reorder(
        made(zemm_reorder_primitive_desc_create, dense({k, n}, zemm_u8), engine, wanted, engine, nullptr));
    reorder.pass(ZEMM_ARG_FROM, d.wei);
    reorder.pass(ZEMM_ARG_TO, ZEMM_MEMORY_ALLOCATE);
    MUST(reorder.execute(stream));
    return std::move(reorder.memories.back());
}

void walk_objects(zemm_engine_t engine) {
    const data d;
    got(zemm_engine_get_name, engine);
    got(zemm_engine_get_features, engine);
    auto stream = new_stream(engine, zemm_stream_in_order | zemm_stream_profiling);
    const auto first = matmul(dense({m, k}, zemm_s8), tagged({k, n}, zemm_u8, zemm_format_tag_any),
                              dense({m, n}, zemm_f32), attributes(), nullptr, engine);
    call c(made(zemm_primitive_desc_clone, first));
    step("zemm_primitive_desc_next_impl", [&] {
        const zemm_status_t moved = zemm_primitive_desc_next_impl(first);
        return moved == zemm_last_impl_reached ? zemm_success : moved;
    });
    c.pass(ZEMM_ARG_SRC, ZEMM_MEMORY_ALLOCATE);
    c.pass(ZEMM_ARG_DST, ZEMM_MEMORY_ALLOCATE);
    c.pass(SCALES(ZEMM_ARG_WEIGHTS), d.scales, dense({1, n}, zemm_f32));
    c.pass(ZERO_POINTS(ZEMM_ARG_WEIGHTS), &d.zero_point, dense({1}, zemm_u8));
    // Copies through a mapping, because memory of a GPU may need one.
    void *const src = got(zemm_memory_map_data, c.memories[0]);
    std::memcpy(src, d.src, sizeof d.src);
    MUST(zemm_memory_unmap_data(c.memories[0], src));
    c.memories.push_back(
        packed(engine, stream, zemm_primitive_desc_query_md(c.pd, zemm_query_weights_md, 0), d));
    c.args.push_back({ZEMM_ARG_WEIGHTS, c.memories.back()});

    MUST(zemm_reset_profiling(stream));
    MUST(c.execute(stream));
    MUST(zemm_stream_wait(stream));
    uint64_t times[4];
    int entries = 4;
    MUST(zemm_query_profiling_data(stream, zemm_profiling_data_kind_time, &entries, times));
    CHECK(entries == 1 || (entries == 2 && failures)); // a failed execution may have launched a kernel
    auto *const result = static_cast<const float *>(got(zemm_memory_map_data, c.memories[1]));
    for (zemm_dim_t row = 0; row < m; row++)
        for (zemm_dim_t column = 0; column < n; column++)
            CHECK(result[row * n + column] == d.expected(row, column));
    MUST(zemm_memory_unmap_data(c.memories[1], const_cast<float *>(result)));

    // The objects are destroyed while the second execution may still run.
    MUST(c.execute(stream));
    for (const size_t of_library : {0, 1, 4})
        c.memories[of_library].end();
    c.primitive.end();
    stream.end();
}

long points_of_engine = 0; // number of points of a walk before the engine exists

void walk(bool is_whole) {
    size_t count = 0;
    step("zemm_engine_get_count", [&] {
        count = zemm_engine_get_count(zemm_cpu);
        return count ? zemm_success : zemm_out_of_memory; // zemm_last_error() says which
    });
    const auto engine = made(zemm_engine_create, zemm_cpu, 0);
    points_of_engine = faults::passed();
    if (is_whole)
        walk_objects(engine);
}

// An engine that adopts the context of another one.
own<zemm_engine_t> adopted(zemm_engine_t of) {
    return made(zemm_ze_interop_engine_create, got(zemm_ze_interop_engine_get_driver, of),
                got(zemm_ze_interop_engine_get_device, of), got(zemm_ze_interop_engine_get_context, of));
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

// Starts a walk with one fault in a process of its own.
pid_t start_cold_walk(const char *path, const fault &f, long number, bool is_whole, FILE *answer = nullptr) {
    return start_child(
        [&] {
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
        },
        120);
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

// Tries points of a walk. Something that is created once does not grow again. Something that grows with each
// attempt is a leak. Returns how many points have one.
int try_points(const fault &f, long most, const std::function<void()> &walk_once) {
    for (int i = 0; i < 3; i++) { // until everything that lives as long as the process exists
        begin(f, -1);
        walk_once();
    }
    int bad = 0;
    live usual = count();
    for (long number : choose(f, most)) {
        int grown = 0;
        for (int i = 0; i < 3 && grown == i; i++) {
            begin(f, number);
            walk_once();
            begin(f, -1);
            walk_once();
            const live now = count();
            grown += now.handles > usual.handles || now.blocks > usual.blocks || now.opencl > usual.opencl;
            usual = now;
        }
        if (grown == 3) {
            std::fprintf(stderr,
                         "%s:%ld leaves something behind: %d handles, %ld blocks, %ld OpenCL objects\n",
                         f.name, number, usual.handles, usual.blocks, usual.opencl);
            driver->print_live();
            bad++;
        }
    }
    return bad;
}

int warm(const char *path) {
    const cache_folder folder;
    setenv("ZEMM_VERBOSE", "none", 1);
    open_driver(path);
    const auto engine = made(zemm_engine_create, zemm_cpu, 0);
    int bad = 0;
    for (const fault &f : all_faults)
        bad += try_points(f, 60, [&] { walk_objects(adopted(engine)); });
    return bad;
}

int cases(const char *path) {
    setenv("ZEMM_VERBOSE", "none", 1);
    open_driver(path);
    only_memory = true;
    const auto engine = made(zemm_engine_create, zemm_cpu, 0);
    int bad = 0;
    for (const fault_case &c : fault_cases) {
        std::fprintf(stderr, "%s\n", c.name);
        const std::vector<uint8_t> right = c.run(engine);
        bad += try_points(all_faults[0], LONG_MAX, [&] { CHECK(c.run(engine) == right); });
        bad += try_points(all_faults[0], 8, [&] { CHECK(c.run(adopted(engine)) == right); });
    }
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
    const std::string mode = argv[2];
    const int bad = (mode == "cold" ? cold : mode == "warm" ? warm : cases)(argv[1]);
    if (bad)
        std::fprintf(stderr, "%d points\n", bad);
    return bad ? 1 : 0;
}
