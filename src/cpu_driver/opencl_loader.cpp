// SPDX-License-Identifier: Apache-2.0
#include "opencl_loader.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <dlfcn.h>

#include "library_places.h"
#include "trust.h"

namespace ze_cpu {
namespace {

namespace fs = std::filesystem;

constexpr const char *library_name = "libintelocl.so";
constexpr const char *packages = "the pip packages intel-opencl-rt and intel-cmplr-lib-rt have it "
                                 "(pip install intel-opencl-rt intel-cmplr-lib-rt)";

void add_reason(std::string &reasons, const std::string &reason) {
    reasons += (reasons.empty() ? "" : "; ") + reason;
}

/// The result for a message of dlopen(): DEPENDENCY_UNAVAILABLE if the failure is permanent. The
/// dynamic linker ends its messages with the text of strerror().
ze_result_t meaning_of(const std::string &reason) {
    auto says = [&](const char *part) { return reason.find(part) != std::string::npos; };
    if (says(std::strerror(ENOMEM)) || says("out of memory"))
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    if (says(std::strerror(ENOENT)) || says(std::strerror(EACCES)) || says("invalid ELF header") ||
        says("file too short") || says("wrong ELF class") || says("undefined symbol"))
        return ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE;
    return ZE_RESULT_ERROR_UNKNOWN;
}

/// Opens a library with RTLD_LOCAL: the runtime's cl* functions must not replace those of an OpenCL
/// loader in the same process. And as a loader's functions must not get into the driver's table,
/// every function is looked up in this one handle.
ze_result_t open_library(const std::string &path, void *&handle, std::string &reasons) {
    handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle)
        return ZE_RESULT_SUCCESS;
    const char *said = dlerror();
    const std::string reason = said ? said : path + " cannot be opened";
    add_reason(reasons, reason);
    return meaning_of(reason);
}

/// Returns DEPENDENCY_UNAVAILABLE if no library can be opened, and another error if a later attempt
/// may succeed.
ze_result_t find_library(void *&handle, std::string &error) {
    if (const char *path = secure_getenv("ZE_CPU_OPENCL_LIBRARY"); path && *path) {
        std::string reasons;
        const ze_result_t result = open_library(path, handle, reasons);
        if (result != ZE_RESULT_SUCCESS)
            error = "ZE_CPU_OPENCL_LIBRARY names a library that cannot be opened: " + reasons;
        return result;
    }
    const Trust trust(own_library());
    std::string refusals, reasons;
    for (const Place &place : library_places()) {
        std::error_code ignored;
        const fs::path file = place.folder / library_name;
        if (!fs::is_regular_file(file, ignored))
            continue;
        if (const std::string problem = trust.problem_of(file, place.prefix); !problem.empty()) {
            add_reason(refusals, problem);
            continue;
        }
        const ze_result_t result = open_library(file.string(), handle, reasons);
        if (result == ZE_RESULT_SUCCESS)
            return result;
        if (result != ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE) {
            error = "Intel's OpenCL CPU runtime cannot be opened: " + reasons;
            return result;
        }
    }
    const bool found_but_unusable = !reasons.empty();
    const ze_result_t result = open_library(library_name, handle, reasons);
    if (result == ZE_RESULT_SUCCESS)
        return result;
    if (found_but_unusable)
        error = "Intel's OpenCL CPU runtime was found but cannot be opened (" + reasons +
                "); it needs the libraries of the pip package intel-cmplr-lib-rt in the same folder "
                "(pip install intel-opencl-rt intel-cmplr-lib-rt)";
    else if (!refusals.empty())
        error = "Intel's OpenCL CPU runtime was found but is not loaded, as others could have changed it: " +
                refusals + "; ZE_CPU_OPENCL_LIBRARY can name the file all the same";
    else
        error = std::string("Intel's OpenCL CPU runtime (") + library_name + ") was not found: " + packages +
                "; ZE_CPU_OPENCL_LIBRARY can name the file (" + reasons + ")";
    return result;
}

} // namespace

ze_result_t load_opencl(cl::Api &api, std::string &error) {
    using namespace cl; // the types in ZE_CPU_OPENCL_FUNCTIONS
    void *handle = nullptr;
    if (ze_result_t result = find_library(handle, error); result != ZE_RESULT_SUCCESS)
        return result;
    const char *missing = nullptr;
#define ZE_CPU_LOOK_UP(name, result, parameters)                                                             \
    api.name = reinterpret_cast<decltype(api.name)>(dlsym(handle, #name));                                   \
    if (!api.name)                                                                                           \
        missing = #name;
    ZE_CPU_OPENCL_FUNCTIONS(ZE_CPU_LOOK_UP)
#undef ZE_CPU_LOOK_UP
    if (missing) {
        error = std::string("the OpenCL library found lacks the function ") + missing + ": " + packages;
        return ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE;
    }
    return ZE_RESULT_SUCCESS;
}

} // namespace ze_cpu
