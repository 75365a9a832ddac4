// SPDX-License-Identifier: Apache-2.0
// Native binaries of one build of the driver, given to another one whose builtins differ: its version is
// another, and it refuses them with a reason.
//   test_cpu_driver_other_build direct OTHER_DRIVER
//   test_cpu_driver_other_build direct BINARY VERSION: in a process of its own, whether it takes the binary
#include <cstdio>
#include <string>

#include "ze_test.h"

static uint32_t version_of_driver() {
    const auto properties = filled(ZE_STRUCTURE_TYPE_DRIVER_PROPERTIES, ze.zeDriverGetProperties, driver);
    return properties.driverVersion;
}

static std::vector<uint8_t> bytes_of(const char *path) {
    std::vector<uint8_t> bytes;
    FILE *file = std::fopen(path, "rb");
    CHECK(file);
    for (int c; (c = std::fgetc(file)) != EOF;)
        bytes.push_back(uint8_t(c));
    std::fclose(file);
    return bytes;
}

/// Exit code: 0 for the driver that made the binary, 10 for one of another build.
static int load(const char *binary, const char *version) {
    std::string log;
    ze_module_handle_t module = nullptr;
    const ze_result_t result = build(bytes_of(binary), &module, &log, ZE_MODULE_FORMAT_NATIVE);
    const bool is_same = std::to_string(version_of_driver()) == version;
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

static int load_in_process(const char *library, const char *binary, uint32_t version) {
    const pid_t process = fork();
    if (process == 0) {
        setenv("ZE_CPU_TEST_LIBRARY", library, 1);
        execl("/proc/self/exe", "other_build", "direct", binary, std::to_string(version).c_str(), nullptr);
        _exit(3);
    }
    const int status = wait_for(process);
    CHECK(WIFEXITED(status));
    return WEXITSTATUS(status);
}

int main(int argc, char **argv) {
    CHECK(argc >= 3);
    open_driver(argc, argv);
    if (argc == 4)
        return load(argv[2], argv[3]);
    const char *own = std::getenv("ZE_CPU_TEST_LIBRARY");
    CHECK(own);
    const uint32_t version = version_of_driver();
    CHECK(ZE_MAJOR_VERSION(version) == 2);

    const auto module = load_module("builtins.spv");
    const std::vector<uint8_t> binary = native_of(module);
    char path[] = "/tmp/ze-cpu-other-build-XXXXXX";
    const int descriptor = mkstemp(path);
    CHECK(descriptor >= 0 && write(descriptor, binary.data(), binary.size()) == ssize_t(binary.size()));
    close(descriptor);
    const int by_own = load_in_process(own, path, version);
    const int by_other = load_in_process(argv[2], path, version);
    unlink(path);
    CHECK(by_own == 0);
    CHECK(by_other == 10);
}
