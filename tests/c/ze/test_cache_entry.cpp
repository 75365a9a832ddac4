// SPDX-License-Identifier: Apache-2.0
// An undamaged entry of the disk cache whose module does not have the kernel. The module is built
// from SPIR-V and replaces the entry. Linked with libzemm's objects.
//   test_cache_entry refusing_driver.so
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <unistd.h>

#include "check.h"
#include "common/error.hpp"
#include "primitive/spirv.hpp"
#include "refusing_driver.h"
#include "ze/device.hpp"
#include "ze/disk_cache.hpp"
#include "ze/module.hpp"
#include "ze/module_cache.hpp"

using namespace zemm;

namespace {

int modules = 0;                             // built or loaded
ze_result_t next_kernel = ZE_RESULT_SUCCESS; // the result of the next kernel's creation

refusal count_module(const ze_module_desc_t &) {
    modules++;
    return {ZE_RESULT_SUCCESS, ""};
}

ze_result_t judge_kernel(const ze_kernel_desc_t &) {
    return std::exchange(next_kernel, ZE_RESULT_SUCCESS);
}

std::string key_of(const ze::device &dev, const char *name) {
    return ze::disk_cache::key_of(dev, find_spirv(name), {}, "");
}

// Gets the kernel as another process would.
std::shared_ptr<ze::kernel> get(const ze::device &dev, const char *name, const char *entry) {
    ze::module_cache cache;
    return cache.get(dev, find_spirv(name), entry, {}, "");
}

std::string read(const std::filesystem::path &file) {
    std::ifstream stream(file);
    return {std::istreambuf_iterator<char>(stream), {}};
}

// The build has computed the hashes by which modules are known.
void test_hashes() {
    for (unsigned i = 0; i < spirv_count; ++i) {
        const ze::spirv one = find_spirv(spirv_table[i].name);
        CHECK(std::string(one.hash).size() == 32);
        for (unsigned j = 0; j < i; ++j) {
            const ze::spirv other = find_spirv(spirv_table[j].name);
            const bool same_words = std::ranges::equal(one.words, other.words);
            CHECK(same_words == (std::string(one.hash) == other.hash));
        }
    }
}

void test(const std::shared_ptr<ze::device> &dev, const std::filesystem::path &log) {
    CHECK(!get(*dev, "peak_f32", "peak_f32")->from_disk());
    const auto other = ze::disk_cache::load(key_of(*dev, "peak_f32"));
    CHECK(other);
    const std::string key = key_of(*dev, "peak_memory");
    ze::disk_cache::store(key, *other);
    CHECK(ze::disk_cache::load(key) == other);

    modules = 0;
    const auto kernel = get(*dev, "peak_memory", "peak_copy");
    CHECK(kernel->handle() && !kernel->from_disk() && kernel->built_now);
    CHECK(modules == 2); // loaded first, then built
    std::fflush(stdout);
    CHECK(read(log).find("has no usable kernel peak_copy") != std::string::npos);
    CHECK(ze::disk_cache::load(key) != other);
    CHECK(get(*dev, "peak_memory", "peak_copy")->from_disk());

    // A failure that may pass does not make the entry unusable.
    modules = 0;
    next_kernel = ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    zemm_status_t status = zemm_success;
    try {
        get(*dev, "peak_memory", "peak_copy");
    } catch (const error &e) {
        status = e.status();
    }
    CHECK(status == zemm_out_of_memory && modules == 1);
    CHECK(get(*dev, "peak_memory", "peak_copy")->from_disk());
}

} // namespace

int main(int argc, char **argv) {
    CHECK(argc == 2);
    char name[] = "/tmp/zemm-cache-entry-XXXXXX";
    CHECK(mkdtemp(name));
    const std::filesystem::path folder = name, log = folder / "log";
    test_hashes();
    setenv("ZEMM_CPU_DRIVER", argv[1], 1);
    setenv("ZEMM_CACHE", "1", 1);
    setenv("ZEMM_CACHE_DIR", (folder / "cache").c_str(), 1);
    setenv("ZEMM_VERBOSE", "warn", 1);
    CHECK(std::freopen(log.c_str(), "w", stdout));
    std::string why;
    if (!ze::device_count(zemm_cpu, why))
        return SKIP;
    refusing_driver(argv[1]).set_judges({count_module, judge_kernel});
    test(ze::open_device(zemm_cpu, 0), log);
    std::filesystem::remove_all(folder);
}
