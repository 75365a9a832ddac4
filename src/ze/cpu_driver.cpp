// SPDX-License-Identifier: Apache-2.0
// Opens libze_cpu.so, zemm's own Level Zero driver for CPUs, without the Level Zero loader.
#include <filesystem>
#include <vector>

#include <dlfcn.h>

#include "common/env.hpp"
#include "common/error.hpp"
#include "common/fork_gate.hpp"
#include "common/verbose.hpp"
#include "trust/search_path.h"
#include "trust/trust.h"
#include "ze/provider.hpp"

namespace zemm::ze {
namespace {

struct candidate {
    std::filesystem::path file;
    std::filesystem::path prefix; // the folders up to this one must be trusted; empty: the user's choice
};

// Files to try: the one that ZEMM_CPU_DRIVER names if it is set, else beside this library, else in the
// build tree.
std::vector<candidate> cpu_driver_candidates() {
    if (const std::string path = env("ZEMM_CPU_DRIVER"); !path.empty())
        return {{path, {}}};
    std::error_code ignored;
    const std::filesystem::path here = trust::this_library();
    const std::filesystem::path file = std::filesystem::weakly_canonical(here, ignored);
    const std::filesystem::path folder = (ignored ? here : file).parent_path(), above = folder.parent_path();
    return {{folder / "libze_cpu.so", folder},
            {folder / "cpu_driver" / "libze_cpu.so", folder},
            {above / "cpu_driver" / "libze_cpu.so", above}};
}

std::shared_ptr<const provider> open_cpu_driver() {
    auto p = std::make_shared<provider>();
    void *lib = nullptr;
    std::string tried;
    zemm_status_t status = zemm_invalid_arguments;
    const trust::Trust trust(trust::this_library());
    for (const auto &[path, prefix] : cpu_driver_candidates()) {
        std::error_code ignored;
        const bool exists = std::filesystem::exists(path, ignored);
        const std::string problem = exists && !prefix.empty() ? trust.problem_of(path, prefix) : "";
        if (!problem.empty()) {
            tried += (tried.empty() ? "" : "; ") + ("others could have changed it: " + problem);
            break;
        }
        lib = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (lib)
            break;
        // Stop at a file that exists but does not open: its error is the one that helps.
        tried +=
            (tried.empty() ? "" : "; ") + (exists ? dl_reason(status) : path.string() + " does not exist");
        if (exists)
            break;
    }
    const std::string named = env("ZEMM_CPU_DRIVER");
    const std::string name =
        "the Level Zero CPU driver " + (named.empty() ? "libze_cpu.so" : named + " (ZEMM_CPU_DRIVER)");
    if (!lib) {
        p->fail(status, name + (named.empty() ? ", which belongs beside libzemm.so," : "") +
                            " cannot be opened: " + tried);
        return p;
    }
    if (const std::string value = env("ZE_CPU_AS_GPU"); value != "" && value != "0" && value != "1")
        verbose::warn_of_variable("ZE_CPU_AS_GPU", "0 or 1");
    const std::string missing = read_tables(lib, p->functions);
    if (!missing.empty()) {
        p->fail(zemm_invalid_arguments, name + " does not offer " + missing);
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
