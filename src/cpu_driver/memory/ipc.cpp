// SPDX-License-Identifier: Apache-2.0
//
// Shares memory with other processes of this machine.
#include <map>
#include <mutex>
#include <utility>

#include <fcntl.h>

#include "border/border.h"
#include "border/entry_points.h"
#include "border/refusal.h"
#include "device/handles.h"
#include "external_memory.h"
#include "memory.h"
#include "process/ipc_handle.h"

namespace ze_cpu {
namespace {

/// Files with IPC handles that have not been put, and the number of these handles. They keep the
/// memory until then, even if the allocation is freed before.
struct Exports {
    std::mutex mutex;
    std::map<std::pair<uint64_t, uint64_t>, std::pair<std::shared_ptr<MemoryFile>, size_t>> files;
};
Exports &exports() {
    static Exports *leaked = new Exports;
    return *leaked;
}

std::pair<uint64_t, uint64_t> key(const MemoryFile::Identity &file) {
    return {file.device, file.inode};
}

ze_result_t get_handle(const void *pointer, ze_ipc_mem_handle_t &to) {
    std::shared_ptr<MemoryFile> file = find_physical(pointer);
    const bool is_physical = file != nullptr;
    Allocation found;
    if (!is_physical && find_allocation(pointer, found)) {
        check_shareable(found);
        file = share_allocation(pointer);
    }
    if (!file)
        return refuse(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                      "ptr is neither in an allocation of this driver, nor in a mapped range, nor the handle "
                      "of a physical memory");
    {
        std::lock_guard lock(exports().mutex);
        auto &entry = exports().files[key(file->identity())];
        entry.first = file;
        entry.second++;
    }
    IpcHandle handle = IpcHandle::make(IpcHandle::of_memory, *file);
    handle.type = uint32_t(is_physical ? ZE_MEMORY_TYPE_DEVICE : found.type);
    handle.size = is_physical ? file->size() : found.size;
    to = handle.write<ze_ipc_mem_handle_t>();
    return ZE_RESULT_SUCCESS;
}

} // namespace

ze_result_t zeDriverGetIpcProperties(ze_driver_handle_t hDriver, ze_driver_ipc_properties_t *pIpcProperties) {
    need_handles(hDriver);
    need_pointers(pIpcProperties);
    pIpcProperties->flags = ZE_IPC_PROPERTY_FLAG_MEMORY | ZE_IPC_PROPERTY_FLAG_EVENT_POOL;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeMemGetIpcHandle(ze_context_handle_t hContext, const void *ptr,
                              ze_ipc_mem_handle_t *pIpcHandle) {
    need_handles(hContext);
    need_pointers(ptr, pIpcHandle);
    return get_handle(ptr, *pIpcHandle);
}

ze_result_t zeMemGetIpcHandleWithProperties(ze_context_handle_t hContext, const void *ptr, void *pNext,
                                            ze_ipc_mem_handle_t *pIpcHandle) {
    const auto *wanted = find_next<const IpcHandleTypeDesc>(pNext, IpcHandleTypeDesc::type);
    if (wanted && wanted->flags & ~IpcHandleTypeDesc::within_host)
        return ZE_RESULT_ERROR_UNSUPPORTED_ENUMERATION;
    return ze_cpu::zeMemGetIpcHandle(hContext, ptr, pIpcHandle);
}

ze_result_t zeMemOpenIpcHandle(ze_context_handle_t hContext, ze_device_handle_t hDevice,
                               ze_ipc_mem_handle_t handle, ze_ipc_memory_flags_t flags, void **pptr) {
    need_handles(hContext, hDevice);
    need_pointers(pptr);
    if (flags & ~uint32_t(ZE_IPC_MEMORY_FLAG_BIAS_CACHED | ZE_IPC_MEMORY_FLAG_BIAS_UNCACHED))
        return ZE_RESULT_ERROR_INVALID_ENUMERATION;
    const IpcHandle data = IpcHandle::read(handle, IpcHandle::of_memory);
    std::shared_ptr<MemoryFile> file = data.resolve();
    if (!file)
        return refuse(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                      "the IPC handle means no memory of this driver any more, or never did");
    const size_t size = data.size ? data.size : file->size();
    const auto type = data.kind ? ze_memory_type_t(data.type) : ZE_MEMORY_TYPE_DEVICE;
    *pptr = map_allocation(std::move(file), size, type, hDevice, Allocation::from_ipc);
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeMemCloseIpcHandle(ze_context_handle_t hContext, const void *ptr) {
    need_handles(hContext);
    need_pointers(ptr);
    return unmap_ipc(ptr);
}

/// Accepts handles that are not counted here: those of another process, those made from a file
/// descriptor, and those that were put before.
ze_result_t zeMemPutIpcHandle(ze_context_handle_t hContext, ze_ipc_mem_handle_t handle) {
    need_handles(hContext);
    const IpcHandle data = IpcHandle::read(handle, IpcHandle::of_memory);
    std::lock_guard lock(exports().mutex);
    auto entry = exports().files.find(key(data.file));
    if (entry != exports().files.end() && --entry->second.second == 0)
        exports().files.erase(entry);
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeMemGetFileDescriptorFromIpcHandleExp(ze_context_handle_t hContext,
                                                   ze_ipc_mem_handle_t ipcHandle, uint64_t *pHandle) {
    need_handles(hContext);
    need_pointers(pHandle);
    const IpcHandle data = IpcHandle::read(ipcHandle, IpcHandle::of_memory);
    if (fcntl(data.descriptor, F_GETFD) < 0) // handle of another process, or put
        return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    *pHandle = uint64_t(data.descriptor);
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeMemGetIpcHandleFromFileDescriptorExp(ze_context_handle_t hContext, uint64_t handle,
                                                   ze_ipc_mem_handle_t *pIpcHandle) {
    need_handles(hContext);
    need_pointers(pIpcHandle);
    std::shared_ptr<MemoryFile> file = handle <= INT32_MAX ? MemoryFile::open(int(handle)) : nullptr;
    if (!file)
        return refuse(ZE_RESULT_ERROR_INVALID_ARGUMENT, no_memory_of_driver(int64_t(handle)));
    IpcHandle made = IpcHandle::make(IpcHandle::of_memory, *file);
    made.descriptor = int32_t(handle); // the caller's, as ours closes with `file`
    made.type = ZE_MEMORY_TYPE_DEVICE;
    *pIpcHandle = made.write<ze_ipc_mem_handle_t>();
    return ZE_RESULT_SUCCESS;
}

} // namespace ze_cpu
