// SPDX-License-Identifier: Apache-2.0
// Native binaries of one build of the driver, given to another one whose builtins differ: its version is
// another, and it refuses them with a reason.
//   test_cpu_driver_other_build direct OTHER_DRIVER
#include <fstream>
#include <iterator>

#include <sys/mman.h>

#include "ze_test.h"

static uint32_t version_of_driver() {
    const auto properties = filled(ZE_STRUCTURE_TYPE_DRIVER_PROPERTIES, ze.zeDriverGetProperties, driver);
    return properties.driverVersion;
}

static uint32_t make(const char *path) {
    const auto module = load_module("builtins.spv");
    const std::vector<uint8_t> binary = native_of(module);
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char *>(binary.data()), long(binary.size()));
    return version_of_driver();
}

/// Exit code: 0 for the driver that made the binary, 10 for one of another build.
static int load(const char *path, uint32_t version) {
    std::ifstream file(path, std::ios::binary);
    const std::vector<uint8_t> binary(std::istreambuf_iterator<char>(file), {});
    std::string log;
    ze_module_handle_t module = nullptr;
    const ze_result_t result = build(binary, &module, &log, ZE_MODULE_FORMAT_NATIVE);
    const bool is_same = version_of_driver() == version;
    if (result == ZE_RESULT_SUCCESS) {
        OK(ze.zeModuleDestroy(module));
        return is_same ? 0 : 1;
    }
    REFUSED(INVALID_NATIVE_BINARY, result);
    CHECK(log.find("it was made by another build of this driver") != std::string::npos);
    // It makes its own of the same SPIR-V.
    OK(build(read_file("builtins.spv"), &module, &log, ZE_MODULE_FORMAT_IL_SPIRV));
    const std::vector<uint8_t> own = native_of(module);
    OK(ze.zeModuleDestroy(module));
    OK(build(own, &module, &log, ZE_MODULE_FORMAT_NATIVE));
    OK(ze.zeModuleDestroy(module));
    return is_same ? 2 : 10;
}

int main(int argc, char **argv) {
    CHECK(argc == 3);
    char path[] = "/tmp/ze-cpu-other-build-XXXXXX";
    close(mkstemp(path));
    // The version that the first process tells the others.
    auto *const version = static_cast<uint32_t *>(
        mmap(nullptr, sizeof(uint32_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    const int made = exit_code(in_child([&] {
        open_driver(argc, argv);
        *version = make(path);
    }));
    const auto loaded = [&] {
        return exit_code(in_child([&] {
            open_driver(argc, argv);
            _exit(load(path, *version));
        }));
    };
    const int by_own = loaded();
    setenv("ZE_CPU_TEST_LIBRARY", argv[2], 1);
    const int by_other = loaded();
    unlink(path);
    if (made == 77)
        return 77;
    CHECK(made == 0 && ZE_MAJOR_VERSION(*version) == 2);
    CHECK(by_own == 0);
    CHECK(by_other == 10);
}
