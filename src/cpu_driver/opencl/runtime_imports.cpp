// SPDX-License-Identifier: Apache-2.0
//
// The dynamic linker writes the addresses of imported functions into a table of the library that
// imports them. When all of them are written it makes the table read-only.
#include "runtime_imports.h"

#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include "process/reserve.h"

namespace ze_cpu {
namespace {

bool is_relative(const char *path) {
    return path && path[0] != '/';
}

FILE *open_stream(const char *path, const char *mode) {
    if (is_relative(path) && mode && mode[0] == 'r') {
        errno = ENOENT;
        return nullptr;
    }
    return std::fopen(path, mode);
}

int open_file(const char *path, int flags, ...) {
    if (is_relative(path) && (flags & O_ACCMODE) != O_WRONLY && !(flags & O_CREAT)) {
        errno = ENOENT;
        return -1;
    }
    mode_t mode = 0;
    if (flags & (O_CREAT | __O_TMPFILE)) {
        va_list rest;
        va_start(rest, flags);
        mode = mode_t(va_arg(rest, int));
        va_end(rest);
    }
    return ::open(path, flags, mode);
}

struct Replacement {
    const char *name;
    uintptr_t function;
};

const Replacement replacements[] = {
    {"fopen", reinterpret_cast<uintptr_t>(&open_stream)},
    {"fopen64", reinterpret_cast<uintptr_t>(&open_stream)},
    {"open", reinterpret_cast<uintptr_t>(&open_file)},
    {"open64", reinterpret_cast<uintptr_t>(&open_file)},
    {"getenv", reinterpret_cast<uintptr_t>(&secure_getenv)},
#ifndef __SANITIZE_THREAD__ // it would take the runtime's blocks for the driver's (races.supp)
    {"malloc", reinterpret_cast<uintptr_t>(&reserve_malloc)},
    {"calloc", reinterpret_cast<uintptr_t>(&reserve_calloc)},
    {"realloc", reinterpret_cast<uintptr_t>(&reserve_realloc)},
    {"aligned_alloc", reinterpret_cast<uintptr_t>(&reserve_aligned_alloc)},
    {"memalign", reinterpret_cast<uintptr_t>(&reserve_memalign)},
    {"posix_memalign", reinterpret_cast<uintptr_t>(&reserve_posix_memalign)},
#endif
};

/// The imports of a loaded library, by its dynamic section.
struct Imports {
    explicit Imports(const link_map &map) : base(map.l_addr) {
        for (const ElfW(Dyn) *entry = map.l_ld; entry->d_tag != DT_NULL; entry++) {
            const uintptr_t value = entry->d_un.d_ptr;
            switch (entry->d_tag) {
            case DT_STRTAB:
                strings = reinterpret_cast<const char *>(value);
                break;
            case DT_SYMTAB:
                symbols = reinterpret_cast<const ElfW(Sym) *>(value);
                break;
            case DT_JMPREL:
                calls = reinterpret_cast<const ElfW(Rela) *>(value);
                break;
            case DT_PLTRELSZ:
                number_of_calls = value / sizeof(ElfW(Rela));
                break;
            case DT_RELA:
                others = reinterpret_cast<const ElfW(Rela) *>(value);
                break;
            case DT_RELASZ:
                number_of_others = value / sizeof(ElfW(Rela));
                break;
            }
        }
        // The first page of a library has its headers.
        const auto *header = reinterpret_cast<const ElfW(Ehdr) *>(base);
        const auto *segment = reinterpret_cast<const ElfW(Phdr) *>(base + header->e_phoff);
        for (int i = 0; i < header->e_phnum; i++, segment++)
            if (segment->p_type == PT_GNU_RELRO) {
                protected_from = base + segment->p_vaddr;
                protected_to = protected_from + segment->p_memsz;
            }
    }

    uintptr_t base;
    const char *strings = nullptr;
    const ElfW(Sym) *symbols = nullptr;
    const ElfW(Rela) *calls = nullptr, *others = nullptr;
    size_t number_of_calls = 0, number_of_others = 0;
    uintptr_t protected_from = 0, protected_to = 0; // made read-only once all addresses are written
};

/// Writes an address into the table, whose pages are as they were before when it returns.
bool write_address(const Imports &imports, uintptr_t at, uintptr_t function) {
    const auto page = uintptr_t(sysconf(_SC_PAGESIZE));
    const uintptr_t begin = at & ~(page - 1);
    const bool is_read_only = begin >= (imports.protected_from & ~(page - 1)) &&
                              begin + page <= (imports.protected_to & ~(page - 1));
    if (is_read_only && mprotect(reinterpret_cast<void *>(begin), page, PROT_READ | PROT_WRITE) != 0)
        return false;
    __atomic_store_n(reinterpret_cast<uintptr_t *>(at), function, __ATOMIC_RELEASE);
    if (is_read_only)
        mprotect(reinterpret_cast<void *>(begin), page, PROT_READ); // a table left writable still works
    return true;
}

bool replace(const Imports &imports, const ElfW(Rela) * entries, size_t count) {
#if defined(__x86_64__)
    for (size_t i = 0; i < count; i++) {
        const auto type = ELF64_R_TYPE(entries[i].r_info);
        if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT)
            continue;
        const char *name = imports.strings + imports.symbols[ELF64_R_SYM(entries[i].r_info)].st_name;
        for (const Replacement &replacement : replacements)
            if (std::strcmp(name, replacement.name) == 0 &&
                !write_address(imports, imports.base + entries[i].r_offset, replacement.function))
                return false;
    }
#endif
    return true;
}

} // namespace

bool guard_imports(const void *function) {
    Dl_info info{};
    void *map = nullptr;
    if (!dladdr1(function, &info, &map, RTLD_DL_LINKMAP) || !map)
        return false;
    const Imports imports(*static_cast<link_map *>(map));
    if (!imports.strings || !imports.symbols)
        return false;
    return replace(imports, imports.calls, imports.number_of_calls) &&
           replace(imports, imports.others, imports.number_of_others);
}

} // namespace ze_cpu
