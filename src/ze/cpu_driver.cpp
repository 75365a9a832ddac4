// SPDX-License-Identifier: Apache-2.0
// The functions of the Level Zero CPU driver that belongs to this library, called without a loader.
#include <filesystem>
#include <vector>

#include <dlfcn.h>

#include "common/env.hpp"
#include "common/error.hpp"
#include "ze/provider.hpp"

namespace zemm::ze {
namespace {

// Where libze_cpu.so is looked for: beside the library that holds this function, or in the build tree.
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

provider *open_cpu_driver() {
    auto *p = new provider;
    void *lib = nullptr;
    std::string tried;
    for (const std::string &path : cpu_driver_candidates()) {
        std::error_code ignored;
        const bool exists = std::filesystem::exists(path, ignored);
        lib = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (lib)
            break;
        // A file that is there and does not open says more than one that is not there.
        tried += (tried.empty() ? "" : "; ") + (exists ? dl_reason() : path + " does not exist");
        if (exists)
            break;
    }
    if (!lib) {
        p->why =
            "the Level Zero CPU driver libze_cpu.so, which belongs beside libzemm.so, cannot be opened: " +
            tried;
        return p;
    }
    const std::string missing = read_tables(lib, p->functions);
    if (!missing.empty()) {
        p->why = "the Level Zero CPU driver libze_cpu.so does not offer " + missing;
        return p;
    }
    const ze_result_t result = p->functions.zeInit(0);
    if (result != ZE_RESULT_SUCCESS) {
        using get_text = const char *(*)();
        auto reason = reinterpret_cast<get_text>(dlsym(lib, "zeCpuGetLastError"));
        const char *sentence = reason ? reason() : nullptr;
        p->why =
            sentence && *sentence
                ? sentence
                : text("the Level Zero CPU driver found no OpenCL CPU runtime (zeInit returned %s): install "
                       "the pip packages intel-opencl-rt and intel-cmplr-lib-rt",
                       result_text(result));
        return p;
    }
    fork_gate::watch();
    p->usable = true;
    return p;
}

} // namespace

const api *cpu_driver_api(std::string &why) {
    static const provider *p = open_cpu_driver();
    return p->answer(why);
}

} // namespace zemm::ze
