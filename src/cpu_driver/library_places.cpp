// SPDX-License-Identifier: Apache-2.0
//
// Where the OpenCL CPU runtime is looked for. pip puts libintelocl.so into <prefix>/lib of the environment
// that it installs into, and most often the libze_cpu.so that runs here lies below that same prefix. Nothing
// has to be set by the user. The search never leaves an environment upwards: folders above it may be
// anybody's.
#include "library_places.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include <dlfcn.h>
#include <sys/stat.h>

namespace ze_cpu {
namespace {

namespace fs = std::filesystem;

bool is_lib(const fs::path &folder) {
    const fs::path name = folder.filename();
    return name == "lib" || name == "lib64" || name == "lib32";
}

/// The top of the environment that a library in `folder` belongs to.
fs::path prefix_of(const fs::path &folder) {
    // <prefix>/lib/python3.11/site-packages/zemm; Debian has dist-packages, and python3 for its own packages.
    for (fs::path at = folder; at.has_relative_path(); at = at.parent_path()) {
        const fs::path name = at.filename(), python = at.parent_path(), lib = python.parent_path();
        if ((name == "site-packages" || name == "dist-packages") &&
            python.filename().string().compare(0, 6, "python") == 0 && is_lib(lib))
            return lib.parent_path();
    }
    // <prefix>/lib and <prefix>/lib/x86_64-linux-gnu
    for (const fs::path &at : {folder, folder.parent_path()})
        if (is_lib(at))
            return at.parent_path();
    return folder.parent_path(); // a folder beside others, as pip install --target makes them
}

/// The folder of the running program as it was called. Links are not resolved: the python of a virtual
/// environment is a link out of it, and the environment is what is wanted. Empty if no file of that name is
/// the program, as when the current directory has changed since.
fs::path program_folder() {
    std::string name;
    std::ifstream command("/proc/self/cmdline", std::ios::binary);
    std::getline(command, name, '\0');
    struct stat program, candidate;
    if (name.empty() || stat("/proc/self/exe", &program) != 0)
        return {};
    const auto is_program = [&](const fs::path &path) {
        return stat(path.c_str(), &candidate) == 0 && candidate.st_dev == program.st_dev &&
               candidate.st_ino == program.st_ino;
    };
    std::error_code error;
    if (name.find('/') != std::string::npos) {
        const fs::path path = fs::absolute(name, error).lexically_normal();
        return !error && is_program(path) ? path.parent_path() : fs::path();
    }
    const char *path = secure_getenv("PATH");
    const std::string folders = path ? path : "";
    for (size_t at = 0; at <= folders.size();) {
        const size_t end = std::min(folders.find(':', at), folders.size());
        const fs::path folder = folders.substr(at, end - at);
        if (folder.is_absolute() && is_program(folder / name))
            return folder;
        at = end + 1;
    }
    return {};
}

/// The file that the kernel has mapped at an address. For libraries that were opened by a relative path: the
/// current directory may have changed since.
fs::path mapped_file(const void *address) {
    std::ifstream maps("/proc/self/maps");
    const auto wanted = reinterpret_cast<uintptr_t>(address);
    for (std::string line; std::getline(maps, line);) {
        // 7f00a000-7f00b000 r-xp 00000000 08:01 1234   /path
        unsigned long begin = 0, end = 0;
        const size_t path = line.find('/');
        if (path != std::string::npos && std::sscanf(line.c_str(), "%lx-%lx", &begin, &end) == 2 &&
            begin <= wanted && wanted < end)
            return line.substr(path);
    }
    return {};
}

} // namespace

fs::path own_library() {
    Dl_info info{};
    if (!dladdr(reinterpret_cast<const void *>(&own_library), &info) || !info.dli_fname)
        return {};
    const fs::path path = fs::path(info.dli_fname).lexically_normal();
    return path.is_absolute() ? path : mapped_file(reinterpret_cast<const void *>(&own_library));
}

std::vector<Place> library_places() {
    std::vector<Place> places;
    if (const fs::path own = own_library().parent_path(); !own.empty()) {
        const fs::path prefix = prefix_of(own);
        for (fs::path folder = own;; folder = folder.parent_path()) {
            places.push_back({folder / "lib", prefix});
            places.push_back({folder, prefix});
            if (folder == prefix || folder == folder.root_path())
                break;
        }
    }
    for (const char *variable : {"VIRTUAL_ENV", "CONDA_PREFIX"})
        if (const char *value = secure_getenv(variable))
            if (const fs::path prefix = fs::path(value).lexically_normal(); prefix.is_absolute())
                places.push_back({prefix / "lib", prefix});
    if (const fs::path folder = program_folder(); folder.filename() == "bin")
        places.push_back({folder.parent_path() / "lib", folder.parent_path()});
    places.push_back({"/opt/intel/oneapi/compiler/latest/lib", "/opt/intel/oneapi"});
    return places;
}

} // namespace ze_cpu
