// SPDX-License-Identifier: Apache-2.0
// Opens the system's Level Zero loader, libze_loader.so.1.
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <dlfcn.h>
#include <sys/mman.h>

#include "common/error.hpp"
#include "common/fork_gate.hpp"
#include "trust/search_path.h"
#include "trust/trust.h"
#include "ze/provider.hpp"

namespace zemm::ze {
namespace {

constexpr size_t driver_bytes = size_t(64) << 20;

// Why the loader, or a driver that it looks for by name, could be a file that somebody else has
// chosen; "" if not.
std::string problem_of_loader() {
    const trust::Trust trust(trust::this_library());
    if (const std::string problem = trust::SearchPath(trust).problem(); !problem.empty())
        return problem + ", and drivers are looked for there: take it out of LD_LIBRARY_PATH";
    for (const char *name : {"ZE_ENABLE_ALT_DRIVERS", "ZE_ENABLE_ALT_LAYERS"})
        if (std::getenv(name) && !secure_getenv(name))
            return text("this program has other rights than the user who has set %s: unset it", name);
    return "";
}

// Whether there is memory for the loader and the drivers that it loads. Intel's GPU driver ends the process
// without: its constructors, of which none can be caught, need 3 MB of data and 14 MB of address space
// (compute runtime 22.43).
bool has_memory_for_drivers() {
    void *reserved = mmap(nullptr, driver_bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return reserved != MAP_FAILED && munmap(reserved, driver_bytes) == 0;
}

std::shared_ptr<const provider> open_loader() {
    auto p = std::make_shared<provider>();
    if (const std::string problem = problem_of_loader(); !problem.empty()) {
        p->fail(zemm_invalid_arguments, "the Level Zero loader is not opened: " + problem);
        return p;
    }
    if (!has_memory_for_drivers()) {
        p->fail(
            zemm_out_of_memory,
            text("the Level Zero loader is not opened: its drivers need %zu MB more of memory than the "
                 "process may have (%s): raise its limit (ulimit -d), or that of address space (ulimit -v)",
                 driver_bytes >> 20, std::strerror(ENOMEM)));
        return p;
    }
    void *lib = dlopen("libze_loader.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!lib) {
        zemm_status_t status;
        const std::string reason = dl_reason(status);
        p->fail(status, status == zemm_invalid_arguments
                            ? "the Level Zero loader is missing (" + reason +
                                  "): install the package libze1 (Debian, Ubuntu) or level-zero (Intel's "
                                  "repositories)"
                            : "the Level Zero loader does not open: " + reason);
        return p;
    }
    api &fn = p->functions;
#define ZEMM_ZE_LOOK_UP(name, ...) fn.name = reinterpret_cast<decltype(fn.name)>(dlsym(lib, #name));
    ZEMM_ZE_FUNCTIONS(ZEMM_ZE_LOOK_UP)
    ZEMM_ZE_LOOK_UP(zeCommandListHostSynchronize)
#undef ZEMM_ZE_LOOK_UP
    if (const char *name = first_missing(fn)) {
        p->fail(zemm_invalid_arguments,
                text("the Level Zero loader libze_loader.so.1 is too old: it has no %s", name));
        return p;
    }
    const ze_result_t result = fn.zeInit(0);
    if (result != ZE_RESULT_SUCCESS) {
        const zemm_status_t status = status_of_init(result);
        p->fail(status, status == zemm_invalid_arguments
                            ? text("the Level Zero loader found no driver (zeInit returned %s): for a GPU "
                                   "install the package intel-opencl-icd (Debian) or libze-intel-gpu1 "
                                   "(Ubuntu), and see to it that /dev/dri/renderD* exists and may be opened",
                                   result_text(result))
                            : text("the Level Zero loader: zeInit returned %s", result_text(result)));
        return p;
    }
    fork_gate::watch();
    p->succeed();
    return p;
}

} // namespace

const api *loader_api(absence &why) {
    static auto &loader = *new settled<provider>(open_loader);
    return loader.get()->answer(why);
}

} // namespace zemm::ze
