// SPDX-License-Identifier: Apache-2.0
#include "dependencies.h"

#include <cerrno>
#include <cstring>

#include <dlfcn.h>
#include <link.h>

#include "elf_file.h"
#include "process/room.h"

namespace ze_cpu {
namespace {

namespace fs = std::filesystem;

struct Search {
    const char *name;
    char path[4096]; // nothing may throw in the dynamic linker's loop
    bool found;
};

/// The name that a loaded library gives itself; null if it has none.
const char *own_name(const dl_phdr_info &library) {
    const ElfW(Dyn) *dynamic = nullptr;
    for (int i = 0; i < library.dlpi_phnum; i++)
        if (library.dlpi_phdr[i].p_type == PT_DYNAMIC)
            dynamic = reinterpret_cast<const ElfW(Dyn) *>(library.dlpi_addr + library.dlpi_phdr[i].p_vaddr);
    uintptr_t strings = 0;
    bool has_name = false;
    size_t offset = 0;
    for (; dynamic && dynamic->d_tag != DT_NULL; dynamic++) {
        if (dynamic->d_tag == DT_STRTAB)
            strings = dynamic->d_un.d_ptr;
        else if (dynamic->d_tag == DT_SONAME) {
            has_name = true;
            offset = dynamic->d_un.d_val;
        }
    }
    if (!has_name || !strings)
        return nullptr;
    if (strings < library.dlpi_addr) // a library of the kernel: its addresses are relative
        strings += library.dlpi_addr;
    return reinterpret_cast<const char *>(strings + offset);
}

int compare(dl_phdr_info *library, size_t, void *data) {
    auto &search = *static_cast<Search *>(data);
    const char *name = own_name(*library);
    if (!name || std::strcmp(name, search.name) != 0)
        return 0;
    search.found = true;
    std::strncpy(search.path, library->dlpi_name, sizeof search.path - 1);
    return 1;
}

/// Opens a file so that it stays in the process.
bool open_for_ever(const std::string &file, std::string &problem) {
    if (dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL))
        return true;
    const char *said = dlerror();
    problem = said ? said : file + " cannot be opened";
    return false;
}

} // namespace

fs::path loaded_library(const std::string &name) {
    Search search{name.c_str(), {}, false};
    dl_iterate_phdr(compare, &search);
    return search.found ? fs::path(search.path[0] ? search.path : "/proc/self/exe") : fs::path();
}

/// The file that is to be opened under this name; empty if there is none. `refusal` says which files
/// are not taken, and why.
fs::path Dependencies::find(const std::string &name, std::string &refusal) const {
    for (const fs::path &folder : folders_) {
        const fs::path file = folder / name;
        std::error_code ignored;
        if (!fs::is_regular_file(file, ignored))
            continue;
        refusal = check_(file);
        if (refusal.empty())
            return file;
    }
    return system_.find(name);
}

bool Dependencies::plan(const std::string &name, std::string &problem) {
    if (!done_.insert(name).second || !loaded_library(name).empty())
        return true;
    std::string refusal;
    const fs::path file = find(name, refusal);
    if (!file.empty()) {
        if (!plan_for(file, problem))
            return false;
        planned_.push_back(file.string());
        return true;
    }
    if (refusal.empty() && system_.problem().empty()) {
        planned_.push_back(name); // the dynamic linker also knows the folders of its cache
        return true;
    }
    problem = name + ": " + std::strerror(ENOENT) + " (" + (refusal.empty() ? system_.problem() : refusal) +
              ", so nothing is loaded from there)";
    return false;
}

bool Dependencies::plan_for(const fs::path &file, std::string &problem) {
    const auto elf = ElfFile::open(file);
    if (!elf) {
        problem = file.string() + ": " + (errno == ENOEXEC ? "invalid ELF header" : std::strerror(errno));
        return false;
    }
    written_bytes_ += elf->written_bytes();
    for (const std::string &name : elf->needed())
        if (!plan(name, problem))
            return false;
    return true;
}

bool Dependencies::open_planned(std::string &problem) {
    for (const std::string &file : planned_)
        if (!open_for_ever(file, problem))
            return false;
    planned_.clear();
    // A library that has another name inside is looked for once more by the dynamic linker.
    for (const std::string &name : done_)
        if (loaded_library(name).empty() && !system_.problem().empty()) {
            problem = "the library with the file name " + name + " has another name inside, and " +
                      system_.problem();
            return false;
        }
    return true;
}

bool Dependencies::open_companions(std::string &problem) {
    if (system_.problem().empty())
        return true;
    for (const char *name : {"libtbbmalloc.so.2", "libtcm.so.1"})
        if (!plan(name, problem))
            return false;
    return open_planned(problem);
}

bool Dependencies::open_for(const fs::path &file, std::string &problem) {
    if (!plan_for(file, problem))
        return false;
    size_t bytes = 0;
    std::vector<fs::path> files(planned_.begin(), planned_.end());
    files.push_back(file);
    for (const fs::path &path : files) {
        std::error_code unknown;
        const auto size = fs::file_size(path, unknown);
        bytes += unknown ? 0 : size;
    }
    problem = lack_of_memory(bytes, written_bytes_);
    return problem.empty() && open_planned(problem);
}

} // namespace ze_cpu
