// SPDX-License-Identifier: Apache-2.0
//
// Where the OpenCL CPU runtime is looked for. pip puts libintelocl.so into <prefix>/lib of the environment
// that it installs into, and most often the libze_cpu.so that runs here lies somewhere below that same
// prefix, so the search walks up from our own file. Nothing has to be set by the user.
#include "opencl_loader.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <vector>

#include <dlfcn.h>

namespace ze_cpu {
namespace {

namespace fs = std::filesystem;

constexpr const char *library_name = "libintelocl.so";
constexpr const char *packages = "the pip packages intel-opencl-rt and intel-cmplr-lib-rt have it "
                                 "(pip install intel-opencl-rt intel-cmplr-lib-rt)";

bool is_file(const fs::path &path) {
    std::error_code ignored;
    return fs::is_regular_file(path, ignored);
}

void add_if_there(std::vector<fs::path> &found, const fs::path &path) {
    if (is_file(path))
        found.push_back(path);
}

/// Folder of the shared library that this code is in; empty if the linker does not tell.
fs::path own_folder() {
    Dl_info info{};
    if (!dladdr(reinterpret_cast<const void *>(&load_opencl), &info) || !info.dli_fname)
        return {};
    std::error_code error;
    fs::path path = fs::absolute(info.dli_fname, error);
    return error ? fs::path() : path.lexically_normal().parent_path();
}

/// Folder of the running program as it was called. Links are not resolved: the python of a virtual
/// environment is a link out of it, and the environment is what is wanted.
fs::path program_folder() {
    std::string name;
    std::ifstream file("/proc/self/cmdline", std::ios::binary);
    std::getline(file, name, '\0');
    if (name.empty())
        return {};
    std::error_code error;
    if (name.find('/') != std::string::npos)
        return fs::absolute(name, error).parent_path();
    const char *path = std::getenv("PATH");
    std::string folders = path ? path : "";
    for (size_t at = 0; at <= folders.size();) {
        size_t end = std::min(folders.find(':', at), folders.size());
        fs::path folder = folders.substr(at, end - at);
        if (!folder.empty() && is_file(folder / name))
            return folder;
        at = end + 1;
    }
    return {};
}

std::vector<fs::path> candidates() {
    std::vector<fs::path> found;
    for (fs::path folder = own_folder(); !folder.empty(); folder = folder.parent_path()) {
        add_if_there(found, folder / "lib" / library_name);
        add_if_there(found, folder / library_name);
        if (folder == folder.root_path())
            break;
    }
    for (const char *variable : {"VIRTUAL_ENV", "CONDA_PREFIX"})
        if (const char *prefix = std::getenv(variable); prefix && *prefix)
            add_if_there(found, fs::path(prefix) / "lib" / library_name);
    if (fs::path folder = program_folder(); !folder.empty())
        add_if_there(found, folder.parent_path() / "lib" / library_name);
    add_if_there(found, fs::path("/opt/intel/oneapi/compiler/latest/lib") / library_name);
    return found;
}

/// RTLD_LOCAL: the cl* names of the runtime must not take the place of those of an OpenCL loader that the
/// process also uses, and neither must theirs end up in our table, so every name is asked from this one
/// handle.
void *open_library(const std::string &path, std::string &error) {
    if (void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL))
        return handle;
    const char *reason = dlerror();
    if (!error.empty())
        error += "; ";
    error += reason ? reason : path + " cannot be opened";
    return nullptr;
}

void *find_library(std::string &error) {
    if (const char *path = std::getenv("ZE_CPU_OPENCL_LIBRARY"); path && *path) {
        std::string reason;
        if (void *handle = open_library(path, reason))
            return handle;
        error = "ZE_CPU_OPENCL_LIBRARY names a library that cannot be opened: " + reason;
        return nullptr;
    }
    std::string reasons;
    for (const fs::path &path : candidates())
        if (void *handle = open_library(path.string(), reasons))
            return handle;
    const bool found_but_unusable = !reasons.empty();
    if (void *handle = open_library(library_name, reasons))
        return handle;
    if (found_but_unusable)
        error = "Intel's OpenCL CPU runtime was found but cannot be opened (" + reasons +
                "); it needs the libraries of the pip package intel-cmplr-lib-rt in the same folder "
                "(pip install intel-opencl-rt intel-cmplr-lib-rt)";
    else
        error = std::string("Intel's OpenCL CPU runtime (") + library_name + ") was not found: " + packages +
                "; ZE_CPU_OPENCL_LIBRARY can name the file (" + reasons + ")";
    return nullptr;
}

} // namespace

bool load_opencl(cl::Api &api, std::string &error) {
    using namespace cl; // the row types of ZE_CPU_OPENCL_FUNCTIONS
    void *handle = find_library(error);
    if (!handle)
        return false;
    const char *missing = nullptr;
#define ZE_CPU_LOOK_UP(name, result, parameters)                                                             \
    api.name = reinterpret_cast<decltype(api.name)>(dlsym(handle, #name));                                   \
    if (!api.name)                                                                                           \
        missing = #name;
    ZE_CPU_OPENCL_FUNCTIONS(ZE_CPU_LOOK_UP)
#undef ZE_CPU_LOOK_UP
    if (missing) {
        error = std::string("the OpenCL library found lacks the function ") + missing + ": " + packages;
        return false;
    }
    return true;
}

} // namespace ze_cpu
