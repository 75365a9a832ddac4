// SPDX-License-Identifier: Apache-2.0
#include "trust/search_path.h"

#include <cstdint>
#include <cstdio>
#include <fstream>

#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <link.h>

namespace trust {
namespace {

namespace fs = std::filesystem;

/// The library that an address is in.
struct Library {
    fs::path path;
    link_map *map = nullptr;
};

Library library_of(const void *address) {
    Dl_info info{};
    void *map = nullptr;
    if (!dladdr1(address, &info, &map, RTLD_DL_LINKMAP) || !info.dli_fname)
        return {};
    return {info.dli_fname, static_cast<link_map *>(map)};
}

/// The folders in which the dynamic linker looks for what this library asks for, in its order:
/// those of LD_LIBRARY_PATH as it was when the process began, of run paths, and of the system.
std::vector<fs::path> folders_of_linker() {
    std::vector<fs::path> folders;
    link_map *map = library_of(reinterpret_cast<const void *>(&this_library)).map;
    Dl_serinfo sizes{};
    if (map && dlinfo(map, RTLD_DI_SERINFOSIZE, &sizes) == 0) {
        std::vector<char> storage(sizes.dls_size);
        auto *found = reinterpret_cast<Dl_serinfo *>(storage.data());
        found->dls_size = sizes.dls_size;
        found->dls_cnt = sizes.dls_cnt;
        if (dlinfo(map, RTLD_DI_SERINFO, found) == 0)
            for (unsigned i = 0; i < found->dls_cnt; i++)
                folders.emplace_back(found->dls_serpath[i].dls_name);
    }
    // The folder of the C library, which has the libraries that belong to it.
    folders.push_back(library_of(reinterpret_cast<const void *>(&gnu_get_libc_version)).path.parent_path());
    return folders;
}

/// The file that is mapped at this address. For a library that was opened by a relative path, as
/// the current directory may have changed since.
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

fs::path this_library() {
    const auto *here = reinterpret_cast<const void *>(&this_library);
    const fs::path path = library_of(here).path.lexically_normal();
    return path.empty() || path.is_absolute() ? path : mapped_file(here);
}

SearchPath::SearchPath(const Trust &trust) : trust_(trust) {
    for (const fs::path &folder : folders_of_linker()) {
        std::string problem = trust.problem_of_search_folder(folder);
        std::error_code error;
        if (problem.empty())
            folders_.push_back((fs::absolute(folder, error) / "").lexically_normal().parent_path());
        else if (problem_.empty())
            problem_ = std::move(problem);
    }
}

fs::path SearchPath::find(const std::string &name) const {
    for (const fs::path &folder : folders_) {
        std::error_code ignored;
        const fs::path file = folder / name;
        if (fs::is_regular_file(file, ignored) && trust_.problem_of(file).empty())
            return file;
    }
    return {};
}

} // namespace trust
