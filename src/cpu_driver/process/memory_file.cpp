// SPDX-License-Identifier: Apache-2.0
#include "memory_file.h"

#include <cerrno>
#include <string>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <level_zero/ze_api.h>

#include "room.h"

namespace ze_cpu {
namespace {

constexpr const char *name = "ze_cpu";
constexpr int own_seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

/// Whether the descriptor is of a memfd as this driver makes them: with its name and its seals, and for
/// reading and writing.
bool is_own(int descriptor) {
    const int flags = fcntl(descriptor, F_GETFL), seals = fcntl(descriptor, F_GET_SEALS);
    if (flags < 0 || (flags & O_ACCMODE) != O_RDWR || seals < 0 ||
        (seals & own_seals) != own_seals) // the system may have added others
        return false;
    char target[64] = "";
    const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
    const ssize_t length = readlink(link.c_str(), target, sizeof target);
    return length > 0 && std::string(target, size_t(length)) == std::string("/memfd:") + name + " (deleted)";
}

} // namespace

size_t page_size() {
    static const size_t size = size_t(sysconf(_SC_PAGESIZE));
    return size;
}

size_t round_to_pages(size_t size) {
    return (size + page_size() - 1) / page_size() * page_size();
}

MemoryFile::MemoryFile(int descriptor) : descriptor_(descriptor) {
    struct stat info {};
    if (fstat(descriptor, &info) == 0) {
        size_ = size_t(info.st_size);
        identity_ = {uint64_t(info.st_dev), uint64_t(info.st_ino)};
    }
}

MemoryFile::~MemoryFile() {
    close(descriptor_);
}

std::shared_ptr<MemoryFile> MemoryFile::create(size_t size) {
    const int descriptor = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (descriptor < 0)
        throw ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY; // no file descriptors or no memory left
    if (!may_have_file(round_to_pages(size)) || ftruncate(descriptor, off_t(round_to_pages(size))) != 0 ||
        fcntl(descriptor, F_ADD_SEALS, own_seals) != 0) {
        close(descriptor);
        throw ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    }
    return std::shared_ptr<MemoryFile>(new MemoryFile(descriptor));
}

std::shared_ptr<MemoryFile> MemoryFile::open(int descriptor) {
    if (!is_own(descriptor))
        return nullptr;
    const int own = fcntl(descriptor, F_DUPFD_CLOEXEC, 3);
    if (own < 0)
        throw ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    std::shared_ptr<MemoryFile> file(new MemoryFile(own));
    return file->size() ? file : nullptr;
}

void *MemoryFile::map(size_t offset, size_t size, int protection, void *at) const {
    void *memory = mmap(at, size, protection, MAP_SHARED | (at ? MAP_FIXED : 0), descriptor_, off_t(offset));
    return memory == MAP_FAILED ? nullptr : memory;
}

} // namespace ze_cpu
