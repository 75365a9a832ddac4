// SPDX-License-Identifier: Apache-2.0
#include "elf_file.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ze_cpu {

/// Elements of the file at an offset; null if they are not all in the file.
template <class T> const T *ElfFile::at(uint64_t offset, uint64_t count) const {
    if (offset > size_ || count > (size_ - offset) / sizeof(T) || offset % alignof(T))
        return nullptr;
    return reinterpret_cast<const T *>(bytes_ + offset);
}

std::optional<ElfFile> ElfFile::open(const std::filesystem::path &path, Access access) {
    const bool changes = access == Access::change;
    const int file = ::open(path.c_str(), (changes ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NONBLOCK);
    if (file < 0)
        return std::nullopt;
    struct stat s;
    void *bytes = MAP_FAILED;
    errno = ENOEXEC;
    if (fstat(file, &s) == 0 && S_ISREG(s.st_mode) && s.st_size > 0)
        bytes = mmap(nullptr, size_t(s.st_size), PROT_READ | (changes ? PROT_WRITE : 0),
                     changes ? MAP_SHARED : MAP_PRIVATE, file, 0);
    const int reason = errno;
    close(file);
    errno = reason;
    if (bytes == MAP_FAILED)
        return std::nullopt;
    ElfFile elf(static_cast<uint8_t *>(bytes), size_t(s.st_size));
    if (!elf.read_dynamic_section()) {
        errno = ENOEXEC;
        return std::nullopt;
    }
    return elf;
}

ElfFile::ElfFile(ElfFile &&other) noexcept
    : bytes_(std::exchange(other.bytes_, nullptr)), size_(other.size_), strings_(other.strings_),
      needed_(std::move(other.needed_)) {}

ElfFile::~ElfFile() {
    const int reason = errno;
    if (bytes_)
        munmap(bytes_, size_);
    errno = reason;
}

bool ElfFile::read_dynamic_section() {
    const auto *header = at<Elf64_Ehdr>(0);
    if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
        header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_phentsize != sizeof(Elf64_Phdr))
        return false;
    const auto *parts = at<Elf64_Phdr>(header->e_phoff, header->e_phnum);
    if (!parts)
        return false;
    const std::span<const Elf64_Phdr> segments(parts, header->e_phnum);
    std::span<const Elf64_Dyn> entries;
    for (const Elf64_Phdr &segment : segments)
        if (segment.p_type == PT_DYNAMIC) {
            const uint64_t count = segment.p_filesz / sizeof(Elf64_Dyn);
            if (const auto *first = at<Elf64_Dyn>(segment.p_offset, count))
                entries = {first, count};
        }
    uint64_t strings = 0, size = 0;
    for (const Elf64_Dyn &entry : entries) {
        if (entry.d_tag == DT_STRTAB)
            strings = entry.d_un.d_ptr;
        else if (entry.d_tag == DT_STRSZ)
            size = entry.d_un.d_val;
        else if (entry.d_tag == DT_NEEDED)
            needed_.push_back(entry.d_un.d_val);
    }
    for (const Elf64_Phdr &segment : segments)
        if (segment.p_type == PT_LOAD && strings >= segment.p_vaddr &&
            strings - segment.p_vaddr < segment.p_filesz) {
            const uint64_t offset = segment.p_offset + (strings - segment.p_vaddr);
            if (at<char>(offset, size))
                strings_ = {reinterpret_cast<char *>(bytes_ + offset), size};
        }
    if (strings_.empty() || strings_.back() != '\0')
        return false;
    for (const uint64_t offset : needed_)
        if (offset >= strings_.size())
            return false;
    return true;
}

std::vector<std::string_view> ElfFile::needed() const {
    std::vector<std::string_view> names;
    for (const uint64_t offset : needed_)
        names.emplace_back(strings_.data() + offset);
    return names;
}

} // namespace ze_cpu
