// SPDX-License-Identifier: Apache-2.0
// Drivers and devices that cannot be opened for the moment: the status and the sentence say what
// failed, and the next call tries again. A missing driver or device is not looked for again. Each
// case is a process of its own.
//   test_opening refusing_driver.so
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "check.h"
#include "child.h"
#include "faults.h"
#include "in_threads.hpp"
#include "refusing_driver.h"

namespace {

const char *driver_path;

// ---- the driver: the first calls of a function fail, as often as a test says

const char *refused_call = nullptr;
ze_result_t refused_with = ZE_RESULT_SUCCESS;
std::atomic<int> refusals_left{0}, refusals{0};

ze_result_t judge_call(const char *name) {
    if (!refused_call || std::strcmp(name, refused_call))
        return ZE_RESULT_SUCCESS;
    refusals++;
    return refusals_left-- > 0 ? refused_with : ZE_RESULT_SUCCESS;
}

void refuse_call(const char *name, ze_result_t result, int times) {
    refusing_driver(driver_path).set_judges({.call = judge_call});
    refused_call = name;
    refused_with = result;
    refusals_left = times;
}

// ---- cases

void apart(const std::string &name, const std::function<void()> &body) {
    const int status = in_child(body);
    if (status)
        std::fprintf(stderr, "%s: exit status 0x%x\n", name.c_str(), unsigned(status));
    CHECK(status == 0);
}

zemm_status_t create(zemm_engine_kind_t kind) {
    const faults::inside here;
    zemm_engine_t engine = nullptr;
    const zemm_status_t status = zemm_engine_create(&engine, kind, 0);
    CHECK((status == zemm_success) == (engine != nullptr));
    return status == zemm_success ? zemm_engine_destroy(engine) : status;
}

size_t count(zemm_engine_kind_t kind) {
    const faults::inside here;
    return zemm_engine_get_count(kind);
}

bool said(const char *part) {
    if (std::strstr(zemm_last_error(), part))
        return true;
    std::fprintf(stderr, "no \"%s\" in \"%s\"\n", part, zemm_last_error());
    return false;
}

void test_calls() {
    const std::pair<ze_result_t, zemm_status_t> results[] = {
        {ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, zemm_out_of_memory},
        {ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY, zemm_out_of_memory},
        {ZE_RESULT_ERROR_DEVICE_LOST, zemm_runtime_error},
        {ZE_RESULT_ERROR_UNKNOWN, zemm_runtime_error}};
    for (const char *name : {"zeInit", "zeDriverGet", "zeDeviceGet", "zeDeviceGetProperties"})
        for (const auto &[result, status] : results)
            apart(name, [&] {
                refuse_call(name, result, 2);
                CHECK(create(zemm_cpu) == status);
                CHECK(said(name) && !std::strstr(zemm_last_error(), "install"));
                CHECK(count(zemm_cpu) == 0);
                CHECK(said(name));
                CHECK(count(zemm_cpu) == 1);
                CHECK(create(zemm_cpu) == zemm_success);
                CHECK(create(zemm_cpu) == zemm_success);
            });
}

// A missing driver is looked for only once, but each call reports it.
void test_missing() {
    apart("zeInit", [] {
        refuse_call("zeInit", ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE, 100);
        for (int i = 0; i < 5; i++) {
            CHECK(create(zemm_cpu) == zemm_invalid_arguments && said("there is no cpu device"));
            CHECK(count(zemm_cpu) == 0);
        }
        CHECK(refusals == 1);
    });
}

constexpr char no_memory[] = "x.so: cannot open shared object file: Cannot allocate memory",
               no_file[] = "x.so: cannot open shared object file: No such file or directory",
               no_descriptor[] = "x.so: cannot open shared object file: Too many open files",
               no_library[] = "x.so: file too short";

struct opening {
    const char *part;
    zemm_engine_kind_t kind;
    const char *reason;
    zemm_status_t status;
};

void test_libraries(const char *refusing_driver) {
    // ZE_CPU_OPENCL_LIBRARY is a path. The last part of it is the name of the runtime.
    const char *runtime = std::getenv("ZE_CPU_OPENCL_LIBRARY");
    std::vector<opening> cases;
    const auto add = [&](const char *part, zemm_engine_kind_t kind) {
        cases.push_back({part, kind, no_memory, zemm_out_of_memory});
        cases.push_back({part, kind, no_descriptor, zemm_runtime_error});
        cases.push_back({part, kind, "nothing that is known", zemm_runtime_error});
        cases.push_back({part, kind, no_file, zemm_invalid_arguments});
        cases.push_back({part, kind, no_library, zemm_invalid_arguments});
    };
    add(std::strrchr(refusing_driver, '/') + 1, zemm_cpu);
    add("libze_loader.so", zemm_gpu);
    if (runtime)
        add(std::strrchr(runtime, '/') + 1, zemm_cpu);
    for (const opening &o : cases)
        apart(std::string(o.part) + ": " + o.reason, [&] {
            faults::refuse_opening(o.part, o.reason);
            CHECK(create(o.kind) == o.status && said(o.reason));
            CHECK(create(o.kind) == o.status && said(o.reason));
            CHECK(count(o.kind) == 0);
            CHECK(faults::openings() == (o.status == zemm_invalid_arguments ? 1 : 3));
            faults::refuse_opening(o.part, nullptr);
            const zemm_status_t status = create(o.kind);
            if (o.status == zemm_invalid_arguments)
                CHECK(status == zemm_invalid_arguments && faults::openings() == 0);
            else if (o.kind == zemm_cpu)
                CHECK(status == zemm_success && faults::openings() == 1);
            else
                CHECK(faults::openings() == 1);
        });
}

// The loader may have a CPU device. So if the loader cannot be opened because memory ran out, the
// call fails and may be repeated. If the loader is broken, zemm uses its own driver.
void test_cpu_without_loader() {
    const std::pair<const char *, zemm_status_t> cases[] = {
        {no_memory, zemm_out_of_memory}, {no_descriptor, zemm_success}, {no_file, zemm_success}};
    for (const auto &[reason, status] : cases)
        apart(reason, [&] {
            faults::refuse_opening("libze_loader.so", reason);
            CHECK(create(zemm_cpu) == status);
            faults::refuse_opening("libze_loader.so", nullptr);
            CHECK(create(zemm_cpu) == zemm_success);
        });
}

void test_threads() {
    apart("threads", [] {
        refuse_call("zeInit", ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, 3);
        std::atomic<int> failed{0};
        in_threads(8, [&](int) {
            for (int attempt = 0; attempt < 4; attempt++) {
                const zemm_status_t status = create(zemm_cpu);
                CHECK(status == zemm_success || (status == zemm_out_of_memory && said("zeInit")));
                failed += status != zemm_success;
            }
            CHECK(create(zemm_cpu) == zemm_success);
        });
        CHECK(failed == 3 && refusals == 4);
    });
}

} // namespace

int main(int argc, char **argv) {
    CHECK(argc == 2);
    driver_path = argv[1];
    setenv("ZEMM_CPU_DRIVER", driver_path, 1);
    setenv("ZEMM_VERBOSE", "none", 1);
    if (in_child([] { _exit(zemm_engine_get_count(zemm_cpu) ? 0 : 1); }))
        return SKIP;
    test_calls();
    test_missing();
    test_libraries(driver_path);
    test_cpu_without_loader();
    test_threads();
}
