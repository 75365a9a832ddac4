// SPDX-License-Identifier: Apache-2.0
// Without the OpenCL runtime zeInit fails, says why, and nothing else crashes.
#include <dlfcn.h>

#include "ze_test.h"

static void try_library(const char *opencl, const char *expected) {
    CHECK(in_child([&] {
              setenv("ZE_CPU_OPENCL_LIBRARY", opencl, 1);
              const UnopenedDriver missing;
              CHECK(missing.why()[0] == 0);
              CHECK_RESULT(missing.init(0), ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE);
              CHECK_RESULT(missing.init(0), ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE);
              std::printf("%s\n", missing.why());
              CHECK(std::strstr(missing.why(), expected));
              const auto getter = reinterpret_cast<ze_result_t (*)(ze_api_version_t, void *)>(
                  dlsym(missing.library, "zeGetDriverProcAddrTable"));
              void *table[32] = {};
              OK(getter(ZE_API_VERSION_1_0, table));
              uint32_t count = 0;
              CHECK_RESULT(reinterpret_cast<decltype(&zeDriverGet)>(table[0])(&count, nullptr),
                           ZE_RESULT_ERROR_UNINITIALIZED);
              CHECK(count == 0);
          }) == 0);
}

int main() {
    try_library("/nowhere/libintelocl.so", "/nowhere/libintelocl.so");
    try_library(std::getenv("ZE_CPU_TEST_LIBRARY"), "intel-opencl-rt"); // a library, but another
}
