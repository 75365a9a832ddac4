// SPDX-License-Identifier: Apache-2.0
#include "runtime_settings.h"

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

#include <dlfcn.h>
#include <unistd.h>

namespace ze_cpu {
namespace {

std::string &settings() {
    static std::string &leaked = *new std::string; // also read while the process ends
    return leaked;
}

/// The lines of the file that set something.
std::string read_file(const std::filesystem::path &path) {
    std::ifstream file(path);
    std::string text;
    for (std::string line; std::getline(file, line);)
        if (const size_t begin = line.find_first_not_of(" \t\r"); begin != line.npos && line[begin] != '#')
            text += line.substr(begin) + "|";
    return text;
}

} // namespace

void read_runtime_settings(const void *function) {
    if (!settings().empty())
        return;
    Dl_info library{};
    std::string text = "|";
    std::error_code ignored;
    if (dladdr(function, &library) && library.dli_fname)
        text +=
            read_file(std::filesystem::weakly_canonical(library.dli_fname, ignored).parent_path() / "cl.cfg");
    std::set<std::string> variables; // sorted
    for (char **variable = environ; variable && *variable; variable++)
        if (std::strncmp(*variable, "CL_CONFIG_", 10) == 0) {
            const std::string name(*variable, std::strcspn(*variable, "="));
            if (const char *value = secure_getenv(name.c_str()))
                variables.insert(name + "=" + value);
        }
    for (const std::string &variable : variables)
        text += variable + "|";
    settings() = std::move(text);
}

const std::string &runtime_settings() {
    return settings();
}

} // namespace ze_cpu
