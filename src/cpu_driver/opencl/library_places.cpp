// SPDX-License-Identifier: Apache-2.0
//
// Finds the folders in which the OpenCL CPU runtime may be. pip puts libintelocl.so into
// <prefix>/lib of the environment that it installs into, and most often this libze_cpu.so is below
// the same prefix. So the user has to set nothing. The search never goes above an environment's
// prefix, because anybody may own the folders there.
#include "library_places.h"

#include <cstdlib>
#include <fstream>
#include <string>

#include <sys/stat.h>

#include "trust/search_path.h"

namespace ze_cpu {
namespace {

namespace fs = std::filesystem;

bool is_lib(const fs::path &folder) {
    const fs::path name = folder.filename();
    return name == "lib" || name == "lib64" || name == "lib32";
}

/// The prefix of the environment that a library in `folder` belongs to.
fs::path prefix_of(const fs::path &folder) {
    // <prefix>/lib/python3.11/site-packages/zemm. Debian also has dist-packages, and a folder
    // python3 for its own packages.
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

/// The folder of the running program by the name that it was called by. Links are not resolved: the
/// python of a virtual environment is a link out of it, and the environment is what is wanted.
/// Empty if that name does not lead to the program, for example because the current directory has
/// changed.
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

} // namespace

std::vector<Place> library_places() {
    std::vector<Place> places;
    if (const fs::path own = trust::this_library().parent_path(); !own.empty()) {
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
