// SPDX-License-Identifier: Apache-2.0
#include "opencl_loader.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <dlfcn.h>

#include "dependencies.h"
#include "library_places.h"
#include "private_copy.h"
#include "room_for_calls.h"
#include "runtime_imports.h"
#include "trust/search_path.h"
#include "trust/trust.h"

namespace ze_cpu {
namespace {

namespace fs = std::filesystem;

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
bool open_library(const fs::path &path, void *&handle, std::string &reason) {
    handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle)
        return true;
    const char *said = dlerror();
    reason = said ? said : path.string() + " cannot be opened";
    return false;
}

/// Opens the runtime and what it needs.
class Opener {
public:
    Opener(const trust::SearchPath &system, fs::path file, Dependencies::Check check)
        : system_(system), file_(std::move(file)), folder_(file_.parent_path()), check_(std::move(check)) {
        std::error_code error;
        const fs::path real = fs::canonical(file_, error).parent_path();
        real_folder_ = error ? folder_ : real;
        for (const fs::path &folder : {folder_, real_folder_})
            if (tbb_.empty() && fs::is_regular_file(folder / tbb_name, error))
                tbb_ = folder / tbb_name;
        if (tbb_.empty())
            tbb_ = system_.find(tbb_name);
    }

    /// On failure, `reasons` grows by a reason.
    ze_result_t open(void *&handle, std::string &reasons) {
        std::string reason;
        if (has_space(real_folder_)) {
            if (open_copy("the runtime does not work in " + real_folder_.string() +
                              ", whose name has a space, and no copy of it could be made elsewhere",
                          handle, reason))
                return ZE_RESULT_SUCCESS;
            add_reason(reasons, reason);
            return ZE_RESULT_ERROR_UNKNOWN;
        }
        fs::path foreign = this->foreign();
        if (foreign.empty()) {
            if (open_original(handle, reason))
                return ZE_RESULT_SUCCESS;
            foreign = this->foreign(); // another thread may have opened one just now
        }
        if (!foreign.empty()) {
            std::string ignored; // a TBB that is no older than the runtime's may do
            if (open_copy("the process has another TBB, " + foreign.string() +
                              ", and no copy of the runtime could be made that does without it",
                          handle, reason) ||
                open_original(handle, ignored))
                return ZE_RESULT_SUCCESS;
            add_reason(reasons, reason + ", or open the CPU device before that library");
            return ZE_RESULT_ERROR_UNKNOWN; // the next attempt may find a folder for the copy
        }
        add_reason(reasons, reason);
        return meaning_of(reason);
    }

private:
    /// A TBB in the process that is not the runtime's; empty if there is none, or if it has to do.
    fs::path foreign() const { return tbb_.empty() ? fs::path() : foreign_tbb(tbb_); }

    bool open_original(void *&handle, std::string &reason) {
        Dependencies needed(system_, {folder_, real_folder_}, check_);
        return needed.open_companions(reason) && needed.open_for(file_, reason) &&
               open_library(file_, handle, reason);
    }

    /// Opens a copy of the runtime, which lies elsewhere and does not know other TBBs. `failure` begins the
    /// reason.
    bool open_copy(const std::string &failure, void *&handle, std::string &reason) {
        std::string problems;
        const auto use = [&](const fs::path &copy) {
            const fs::path copies = copy.parent_path();
            const auto check = [&](const fs::path &file) {
                return file.parent_path() == copies ? "" : check_(file);
            };
            Dependencies needed(system_, {copies, folder_, real_folder_}, check);
            std::string why;
            if (needed.open_companions(why) && needed.open_for(copy, why) && open_library(copy, handle, why))
                return true;
            add_reason(problems, why);
            return false;
        };
        if (with_private_copy(file_, tbb_, system_.trust(), use, problems))
            return true;
        reason = failure + " (" + problems +
                 "): let ZE_CPU_CACHE_DIR name a folder with 110 MB of space from which code may be loaded";
        return false;
    }

    const trust::SearchPath &system_;
    const fs::path file_, folder_;
    fs::path real_folder_;
    fs::path tbb_; // the runtime's; empty if it has none
    const Dependencies::Check check_;
};

/// The file that the user names. It is loaded without checks.
ze_result_t open_named(const trust::SearchPath &system, const std::string &name, void *&handle,
                       std::string &error) {
    std::error_code ignored;
    fs::path file = fs::absolute(name, ignored);
    if (name.find('/') == std::string::npos)
        if (file = system.find(name); file.empty()) {
            error = "ZE_CPU_OPENCL_LIBRARY names a library that cannot be opened: " + name + ": " +
                    std::strerror(ENOENT) + (system.problem().empty() ? "" : "; " + system.problem());
            return ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE;
        }
    std::string reasons;
    const auto no_check = [](const fs::path &) { return std::string(); };
    const ze_result_t result = Opener(system, file, no_check).open(handle, reasons);
    if (result != ZE_RESULT_SUCCESS)
        error = "ZE_CPU_OPENCL_LIBRARY names a library that cannot be opened: " + reasons;
    return result;
}

/// Returns DEPENDENCY_UNAVAILABLE if no library can be opened, and another error if a later attempt
/// may succeed.
ze_result_t find_library(void *&handle, std::string &error) {
    const trust::Trust trust(trust::this_library());
    const trust::SearchPath system(trust);
    if (const char *path = secure_getenv("ZE_CPU_OPENCL_LIBRARY"); path && *path)
        return open_named(system, path, handle, error);
    std::vector<Place> places = library_places();
    // The last resort is a folder that the dynamic linker knows.
    if (const fs::path file = system.find(runtime_name); !file.empty())
        places.push_back({file.parent_path(), file.parent_path(), true});
    std::string refusals, reasons;
    for (const Place &place : places) {
        std::error_code ignored;
        const fs::path file = place.folder / runtime_name;
        if (!fs::is_regular_file(file, ignored))
            continue;
        const auto check = [&](const fs::path &path) {
            return place.of_linker ? trust.problem_of_search_folder(path.parent_path())
                                   : trust.problem_of(path, place.prefix);
        };
        if (const std::string problem = check(file); !problem.empty()) {
            add_reason(refusals, problem);
            continue;
        }
        const ze_result_t result = Opener(system, file, check).open(handle, reasons);
        if (result == ZE_RESULT_SUCCESS)
            return result;
        if (result != ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE) {
            error = "Intel's OpenCL CPU runtime cannot be opened: " + reasons;
            return result;
        }
    }
    if (!reasons.empty())
        error = "Intel's OpenCL CPU runtime was found but cannot be opened (" + reasons +
                "); it needs the libraries of the pip package intel-cmplr-lib-rt in the same folder "
                "(pip install intel-opencl-rt intel-cmplr-lib-rt)";
    else if (!refusals.empty())
        error = "Intel's OpenCL CPU runtime was found but is not loaded, as others could have changed it: " +
                refusals + "; ZE_CPU_OPENCL_LIBRARY can name the file all the same";
    else
        error =
            std::string("Intel's OpenCL CPU runtime (") + runtime_name + ") was not found: " + packages +
            "; ZE_CPU_OPENCL_LIBRARY can name the file" +
            (system.problem().empty() ? "" : " (" + system.problem() + ", so it is not looked for there)");
    return ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE;
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
        const char *named = secure_getenv("ZE_CPU_OPENCL_LIBRARY");
        error = (named && *named ? "ZE_CPU_OPENCL_LIBRARY names " + std::string(named) + ", which"
                                 : std::string("the OpenCL library found")) +
                " lacks the function " + missing + ": " + packages;
        return ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE;
    }
    // The runtime, and the library that compiles OpenCL C for it.
    const void *compile = dlsym(handle, "Compile");
    if (!guard_imports(reinterpret_cast<const void *>(api.clGetPlatformIDs)) ||
        (compile && !guard_imports(compile))) {
        error = "the OpenCL runtime's table of imports cannot be changed, so it could read its configuration "
                "from the current directory";
        return ZE_RESULT_ERROR_UNKNOWN;
    }
    for (const char *of_tbb :
         {"_ZN3tbb6detail2r122cache_aligned_allocateEm", "_ZN3uAb6detail2r122cache_aligned_allocateEm"})
        if (const void *function = dlsym(handle, of_tbb))
            guard_imports(function); // a TBB that is not changed also works
    give_room_to_calls(api);
    return ZE_RESULT_SUCCESS;
}

} // namespace ze_cpu
