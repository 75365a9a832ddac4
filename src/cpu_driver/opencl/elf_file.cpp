// SPDX-License-Identifier: Apache-2.0
#include "elf_file.h"

#include <cerrno>
#include <cstring>

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

namespace ze_cpu {
namespace {

constexpr uint64_t most_names = 64 << 20; // bytes

/// Reads elements of the file. False, with the reason in errno, if they are not all in it.
template <class T> bool read_at(int file, uint64_t offset, T *to, size_t count) {
    const ssize_t got = pread(file, to, count * sizeof(T), off_t(offset));
    if (got < 0)
        return false;
    errno = ENOEXEC;
    return size_t(got) == count * sizeof(T);
}

} // namespace

std::optional<ElfFile> ElfFile::open(const std::filesystem::path &path) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0)
        return std::nullopt;
    ElfFile elf;
    const bool is_read = elf.read(file);
    const int reason = errno;
    close(file);
    errno = reason;
    if (!is_read)
        return std::nullopt;
    return elf;
}

bool ElfFile::read(int file) {
    Elf64_Ehdr header;
    if (!read_at(file, 0, &header, 1))
        return false;
    errno = ENOEXEC;
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_phentsize != sizeof(Elf64_Phdr))
        return false;
    std::vector<Elf64_Phdr> segments(header.e_phnum);
    if (!read_at(file, header.e_phoff, segments.data(), segments.size()))
        return false;
    uint64_t address = 0, size = 0;
    for (const Elf64_Phdr &segment : segments) {
        if (segment.p_type == PT_LOAD && (segment.p_flags & PF_W))
            written_bytes_ += segment.p_memsz;
        if (segment.p_type != PT_DYNAMIC || segment.p_filesz > most_names)
            continue;
        std::vector<Elf64_Dyn> entries(segment.p_filesz / sizeof(Elf64_Dyn));
        if (!read_at(file, segment.p_offset, entries.data(), entries.size()))
            return false;
        for (const Elf64_Dyn &entry : entries)
            if (entry.d_tag == DT_STRTAB)
                address = entry.d_un.d_ptr;
            else if (entry.d_tag == DT_STRSZ)
                size = entry.d_un.d_val;
            else if (entry.d_tag == DT_NEEDED)
                needed_.push_back(entry.d_un.d_val);
    }
    for (const Elf64_Phdr &segment : segments)
        if (segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
            address - segment.p_vaddr < segment.p_filesz)
            offset_ = segment.p_offset + (address - segment.p_vaddr);
    errno = ENOEXEC;
    if (offset_ == 0 || size == 0 || size > most_names)
        return false;
    names_.resize(size);
    if (!read_at(file, offset_, names_.data(), names_.size()))
        return false;
    for (const uint64_t name : needed_)
        if (name >= size)
            return false;
    return names_.back() == '\0';
}

std::vector<std::string> ElfFile::needed() const {
    std::vector<std::string> found;
    for (const uint64_t name : needed_)
        found.emplace_back(names_.data() + name);
    return found;
}

bool ElfFile::write_names(int file) const {
    const ssize_t written = pwrite(file, names_.data(), names_.size(), off_t(offset_));
    if (written >= 0 && size_t(written) != names_.size())
        errno = ENOSPC;
    return size_t(written) == names_.size();
}

} // namespace ze_cpu
