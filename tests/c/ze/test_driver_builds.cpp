// SPDX-License-Identifier: Apache-2.0
// Two builds of the CPU driver with different builtins share a folder of the disk cache. Neither
// may load what the other has built. Linked with libzemm's objects.
//   test_driver_builds DRIVER OTHER_DRIVER
#include <cstdlib>
#include <filesystem>
#include <string>

#include "check.h"
#include "child.h"
#include "common/error.hpp"
#include "primitive/spirv.hpp"
#include "ze/device.hpp"
#include "ze/module.hpp"

using namespace zemm;

namespace {

enum outcome { built = 10, from_disk };

// Runs in a process of its own, because a process has only one driver.
int build(const char *driver) {
    return exit_code(in_child([&] {
        setenv("ZEMM_CPU_DRIVER", driver, 1);
        std::string why;
        if (!ze::device_count(zemm_cpu, why))
            _exit(SKIP);
        const auto kernel =
            ze::get_kernel(ze::open_device(zemm_cpu, 0), find_spirv("peak_f32"), "peak_f32", {}, "");
        _exit(kernel->from_disk() ? from_disk : built);
    }));
}

} // namespace

int main(int argc, char **argv) {
    CHECK(argc == 3);
    char folder[] = "/tmp/zemm-driver-builds-XXXXXX";
    CHECK(mkdtemp(folder));
    setenv("ZEMM_CACHE", "1", 1);
    setenv("ZEMM_CACHE_DIR", folder, 1);
    const int first = build(argv[1]);
    if (first != SKIP) {
        CHECK(first == built);
        CHECK(build(argv[1]) == from_disk);
        CHECK(build(argv[2]) == built);
        CHECK(build(argv[2]) == from_disk);
        CHECK(build(argv[1]) == from_disk); // the folder keeps both
    }
    std::filesystem::remove_all(folder);
    return first == SKIP ? SKIP : 0;
}
