// SPDX-License-Identifier: Apache-2.0
#include "external_memory.h"

#include "border/refusal.h"

namespace ze_cpu {
namespace {

void check_types(ze_external_memory_type_flags_t flags) {
    if (flags & ~uint32_t(ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_FD))
        throw refuse(ZE_RESULT_ERROR_UNSUPPORTED_ENUMERATION,
                     "external memory of the types " + std::to_string(flags) +
                         " is asked for, but this driver has file descriptors only: "
                         "ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_FD");
}

} // namespace

std::string no_memory_of_driver(int64_t descriptor) {
    return "file descriptor " + std::to_string(descriptor) +
           " is no memory that this driver has exported, in this process or another, or it is not open for "
           "reading and writing";
}

ExternalMemory::ExternalMemory(std::initializer_list<const void *> chains) {
    for (const void *chain : chains) {
        if (find_next<ze_base_desc_t>(chain, ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMPORT_WIN32))
            check_types(ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_WIN32);
        if (auto *wanted = find_next<const ze_external_memory_export_desc_t>(
                chain, ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_DESC)) {
            check_types(wanted->flags);
            exported_ = exported_ || wanted->flags;
        }
        auto *import = find_next<const ze_external_memory_import_fd_t>(
            chain, ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMPORT_FD);
        if (!import)
            continue;
        check_types(import->flags);
        if (import_ && import_->fd != import->fd)
            throw refuse(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                         "the descriptors import two file descriptors, " + std::to_string(import_->fd) +
                             " and " + std::to_string(import->fd) + ": an allocation is one memory");
        import_ = import;
    }
}

std::shared_ptr<MemoryFile> ExternalMemory::file(size_t size) const {
    if (!import_)
        return MemoryFile::create(size);
    std::shared_ptr<MemoryFile> file = MemoryFile::open(import_->fd);
    if (!file)
        throw refuse(ZE_RESULT_ERROR_INVALID_ARGUMENT, no_memory_of_driver(import_->fd));
    if (file->size() < size)
        throw refuse(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                     "the memory of file descriptor " + std::to_string(import_->fd) + " has " +
                         std::to_string(file->size()) + " bytes, the allocation asks for " +
                         std::to_string(size));
    return file;
}

} // namespace ze_cpu
