// SPDX-License-Identifier: Apache-2.0
// Opens libze_cpu.so, zemm's own Level Zero driver for CPUs, without the Level Zero loader.
#include <filesystem>
#include <vector>

#include <dlfcn.h>

#include "common/env.hpp"
#include "common/error.hpp"
#include "ze/provider.hpp"

namespace zemm::ze {
namespace {

// Paths to try: ZEMM_CPU_DRIVER alone if it is set, else beside this library, else in the build
// tree.
std::vector<std::string> cpu_driver_candidates() {
    if (const std::string path = env("ZEMM_CPU_DRIVER"); !path.empty())
        return {path};
    std::vector<std::string> candidates;
    Dl_info here;
    if (dladdr(reinterpret_cast<void *>(&cpu_driver_api), &here) && here.dli_fname) {
        std::error_code ignored;
        const auto file = std::filesystem::weakly_canonical(here.dli_fname, ignored);
        const auto folder = (ignored ? std::filesystem::path(here.dli_fname) : file).parent_path();
        candidates = {folder / "libze_cpu.so", folder / "cpu_driver" / "libze_cpu.so",
                      folder.parent_path() / "cpu_driver" / "libze_cpu.so"};
    }
    return candidates;
}

std::shared_ptr<const provider> open_cpu_driver() {
    auto p = std::make_shared<provider>();
    void *lib = nullptr;
    std::string tried;
    zemm_status_t status = zemm_invalid_arguments;
    for (const std::string &path : cpu_driver_candidates()) {
        std::error_code ignored;
        const bool exists = std::filesystem::exists(path, ignored);
        lib = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (lib)
            break;
        // Stop at a file that exists but does not open: its error is the one that helps.
        tried += (tried.empty() ? "" : "; ") + (exists ? dl_reason(status) : path + " does not exist");
        if (exists)
            break;
    }
    if (!lib) {
        p->fail(
            status,
            "the Level Zero CPU driver libze_cpu.so, which belongs beside libzemm.so, cannot be opened: " +
                tried);
        return p;
    }
    const std::string missing = read_tables(lib, p->functions);
    if (!missing.empty()) {
        p->fail(zemm_invalid_arguments, "the Level Zero CPU driver libze_cpu.so does not offer " + missing);
        return p;
    }
    const ze_result_t result = p->functions.zeInit(0);
    if (result != ZE_RESULT_SUCCESS) {
        using get_text = const char *(*)();
        auto reason = reinterpret_cast<get_text>(dlsym(lib, "zeCpuGetLastError"));
        const char *sentence = reason ? reason() : nullptr;
        status = status_of_init(result);
        if (sentence && *sentence)
            p->fail(status, sentence);
        else
            p->fail(status,
                    text("the Level Zero CPU driver does not open: zeInit returned %s%s", result_text(result),
                         status == zemm_invalid_arguments
                             ? ", install the pip packages intel-opencl-rt and intel-cmplr-lib-rt"
                             : ""));
        return p;
    }
    fork_gate::watch();
    p->succeed();
    return p;
}

} // namespace

const api *cpu_driver_api(absence &why) {
    static auto &driver = *new settled<provider>(open_cpu_driver);
    return driver.get()->answer(why);
}

} // namespace zemm::ze
