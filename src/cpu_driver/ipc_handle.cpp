// SPDX-License-Identifier: Apache-2.0
#include "ipc_handle.h"

#include <string>

#include <fcntl.h>
#include <unistd.h>

namespace ze_cpu {
namespace {

std::shared_ptr<MemoryFile> open_of_process(const IpcHandle &handle) {
    const std::string path =
        "/proc/" + std::to_string(handle.process) + "/fd/" + std::to_string(handle.descriptor);
    const int descriptor = open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (descriptor < 0)
        return nullptr;
    std::shared_ptr<MemoryFile> file = MemoryFile::open(descriptor);
    close(descriptor);
    return file;
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
