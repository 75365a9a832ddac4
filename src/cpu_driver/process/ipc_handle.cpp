// SPDX-License-Identifier: Apache-2.0
#include "ipc_handle.h"

#include <string>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ze_cpu {
namespace {

/// Closes the descriptor in the end.
struct Descriptor {
    const int number;
    explicit Descriptor(int n) : number(n) {}
    ~Descriptor() {
        if (number >= 0)
            close(number);
    }
    Descriptor(const Descriptor &) = delete;
    Descriptor &operator=(const Descriptor &) = delete;
};

std::shared_ptr<MemoryFile> open_of_process(const IpcHandle &handle) {
    const std::string path =
        "/proc/" + std::to_string(handle.process) + "/fd/" + std::to_string(handle.descriptor);
    // The number may mean anything by now, for instance a FIFO or a device, where an open() has effects.
    // O_PATH finds the file without opening it.
    const Descriptor found(open(path.c_str(), O_PATH | O_CLOEXEC));
    struct stat info {};
    if (fstat(found.number, &info) != 0 || !S_ISREG(info.st_mode) ||
        MemoryFile::Identity{uint64_t(info.st_dev), uint64_t(info.st_ino)} != handle.file)
        return nullptr;
    const std::string same = "/proc/self/fd/" + std::to_string(found.number);
    const Descriptor opened(open(same.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    return MemoryFile::open(opened.number);
}

} // namespace

IpcHandle IpcHandle::make(Kind kind, const MemoryFile &file) {
    IpcHandle handle;
    handle.descriptor = file.descriptor();
    handle.kind = kind;
    handle.process = int32_t(getpid());
    handle.size = file.size();
    handle.file = file.identity();
    return handle;
}

std::shared_ptr<MemoryFile> IpcHandle::resolve() const {
    std::shared_ptr<MemoryFile> found = MemoryFile::open(descriptor);
    if (kind == of_descriptor)
        return found;
    if (!found || found->identity() != file)
        found = open_of_process(*this);
    return found && found->identity() == file && found->size() >= size ? found : nullptr;
}

} // namespace ze_cpu
