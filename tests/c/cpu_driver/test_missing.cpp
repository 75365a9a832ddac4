// SPDX-License-Identifier: Apache-2.0
//
// Without the OpenCL runtime zeInit fails, says why, and nothing else crashes.
#include <dlfcn.h>

#include <sys/wait.h>
#include <unistd.h>

#include "ze_test.h"

using Getter = ze_result_t (*)(ze_api_version_t, void *);

static void try_library(const char *opencl, const char *expected) {
    pid_t child = fork();
    if (child == 0) {
        setenv("ZE_CPU_OPENCL_LIBRARY", opencl, 1);
        void *library = dlopen(std::getenv("ZE_CPU_TEST_LIBRARY"), RTLD_NOW);
        CHECK(library);
        auto why = reinterpret_cast<const char *(*)()>(dlsym(library, "zeCpuGetLastError"));
        CHECK(why && std::string(why()).empty());
        void *global[8] = {}, *table[32] = {};
        OK(reinterpret_cast<Getter>(dlsym(library, "zeGetGlobalProcAddrTable"))(ZE_API_VERSION_1_0, global));
        OK(reinterpret_cast<Getter>(dlsym(library, "zeGetDriverProcAddrTable"))(ZE_API_VERSION_1_0, table));
        auto init = reinterpret_cast<decltype(&zeInit)>(global[0]);
        auto get = reinterpret_cast<decltype(&zeDriverGet)>(table[0]);
        CHECK_RESULT(init(0), ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE);
        CHECK_RESULT(init(0), ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE);
        std::printf("%s\n", why());
        CHECK(std::strstr(why(), expected));
        uint32_t count = 0;
        CHECK_RESULT(get(&count, nullptr), ZE_RESULT_ERROR_UNINITIALIZED);
        CHECK(count == 0);
        std::exit(0);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

int main() {
    try_library("/nowhere/libintelocl.so", "/nowhere/libintelocl.so");
    try_library(std::getenv("ZE_CPU_TEST_LIBRARY"), "intel-opencl-rt"); // a library, but another
    std::puts("ok");
}
