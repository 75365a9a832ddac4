// SPDX-License-Identifier: Apache-2.0
//
// Sharing memory with other processes of this machine.
//
// An IPC handle starts with a file descriptor of the exporting process: programs made for Intel's GPU driver
// send that over a socket and put the one that they receive in its place. What follows tells which file of
// which process it is, so that the handle is also good as it stands: it is opened through /proc then, which
// the system allows to processes of the same user. Files are the driver's own memfds, of fixed size: a wrong
// handle maps nothing else.
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "border.h"
#include "driver.h"
#include "entry_points.h"
#include "memory.h"
#include "virtual_memory.h"

namespace ze_cpu {
namespace {

struct HandleData {
    int32_t descriptor;
    uint32_t magic;
    int32_t process;
    uint32_t type; // ze_memory_type_t
    uint64_t size;
    MemoryFile::Identity file;
};
static_assert(sizeof(HandleData) <= sizeof(ze_ipc_mem_handle_t));
constexpr uint32_t magic = 0x697a6370;

HandleData read(const ze_ipc_mem_handle_t &handle) {
    HandleData data;
    std::memcpy(&data, handle.data, sizeof data);
    if (data.magic != magic) // a bare descriptor, and whatever was in the memory behind it
        data = {data.descriptor, 0, 0, ZE_MEMORY_TYPE_DEVICE, 0, {}};
    return data;
}

ze_ipc_mem_handle_t write(const HandleData &data) {
    ze_ipc_mem_handle_t handle{};
    std::memcpy(handle.data, &data, sizeof data);
    return handle;
}

/// Files whose handles are out: their memory stays, also when the allocation is freed, until the handles are
/// put.
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

std::shared_ptr<MemoryFile> open_of_process(const HandleData &data) {
    const std::string path =
        "/proc/" + std::to_string(data.process) + "/fd/" + std::to_string(data.descriptor);
    const int descriptor = open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (descriptor < 0)
        return nullptr;
    std::shared_ptr<MemoryFile> file = MemoryFile::open(descriptor);
    close(descriptor);
    return file;
}

/// The file that a handle means; null if it is gone or was never ours.
std::shared_ptr<MemoryFile> resolve(const HandleData &data) {
    std::shared_ptr<MemoryFile> file = MemoryFile::open(data.descriptor);
    if (data.magic != magic)
        return file;
    if (!file || file->identity() != data.file)
        file = open_of_process(data);
    return file && file->identity() == data.file && file->size() >= data.size ? file : nullptr;
}

ze_result_t get_handle(const void *pointer, ze_ipc_mem_handle_t &to) {
    std::shared_ptr<MemoryFile> file = find_physical(pointer);
    Allocation found;
    if (!file && find_allocation(pointer, found))
        file = share_allocation(pointer);
    if (!file)
        return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    {
        std::lock_guard lock(exports().mutex);
        auto &entry = exports().files[key(file->identity())];
        entry.first = file;
        entry.second++;
    }
    const bool whole = found.type == ZE_MEMORY_TYPE_UNKNOWN || found.origin == Allocation::virtual_range;
    to = write({file->descriptor(), magic, int32_t(getpid()),
                uint32_t(whole ? ZE_MEMORY_TYPE_DEVICE : found.type), whole ? file->size() : found.size,
                file->identity()});
    return ZE_RESULT_SUCCESS;
}

} // namespace

ze_result_t zeDriverGetIpcProperties(ze_driver_handle_t hDriver, ze_driver_ipc_properties_t *pIpcProperties) {
    ZE_CPU_NEED_HANDLE(hDriver);
    ZE_CPU_NEED_POINTER(pIpcProperties);
    pIpcProperties->flags = ZE_IPC_PROPERTY_FLAG_MEMORY;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeMemGetIpcHandle(ze_context_handle_t hContext, const void *ptr,
                              ze_ipc_mem_handle_t *pIpcHandle) {
    ZE_CPU_NEED_HANDLE(hContext);
    ZE_CPU_NEED_POINTER(ptr);
    ZE_CPU_NEED_POINTER(pIpcHandle);
    return guarded([&] { return get_handle(ptr, *pIpcHandle); });
}

ze_result_t zeMemGetIpcHandleWithProperties(ze_context_handle_t hContext, const void *ptr, void *pNext,
                                            ze_ipc_mem_handle_t *pIpcHandle) {
    for (auto *p = static_cast<const ze_base_desc_t *>(pNext); p;
         p = static_cast<const ze_base_desc_t *>(p->pNext))
        if (p->stype == IpcHandleTypeDesc::type &&
            reinterpret_cast<const IpcHandleTypeDesc *>(p)->flags & ~IpcHandleTypeDesc::within_host)
            return ZE_RESULT_ERROR_UNSUPPORTED_ENUMERATION;
    return ze_cpu::zeMemGetIpcHandle(hContext, ptr, pIpcHandle);
}

ze_result_t zeMemOpenIpcHandle(ze_context_handle_t hContext, ze_device_handle_t hDevice,
                               ze_ipc_mem_handle_t handle, ze_ipc_memory_flags_t flags, void **pptr) {
    ZE_CPU_NEED_HANDLE(hContext);
    ZE_CPU_NEED_HANDLE(hDevice);
    ZE_CPU_NEED_POINTER(pptr);
    if (flags & ~uint32_t(ZE_IPC_MEMORY_FLAG_BIAS_CACHED | ZE_IPC_MEMORY_FLAG_BIAS_UNCACHED))
        return ZE_RESULT_ERROR_INVALID_ENUMERATION;
    return guarded([&]() -> ze_result_t {
        const HandleData data = read(handle);
        std::shared_ptr<MemoryFile> file = resolve(data);
        if (!file)
            return ZE_RESULT_ERROR_INVALID_ARGUMENT;
        const size_t size = data.size ? data.size : file->size();
        *pptr =
            map_allocation(std::move(file), size, ze_memory_type_t(data.type), hDevice, Allocation::from_ipc);
        return ZE_RESULT_SUCCESS;
    });
}

ze_result_t zeMemCloseIpcHandle(ze_context_handle_t hContext, const void *ptr) {
    ZE_CPU_NEED_HANDLE(hContext);
    ZE_CPU_NEED_POINTER(ptr);
    return guarded([&] { return unmap_ipc(ptr); });
}

/// Handles that hold nothing here (of another process, made from a descriptor, put before) are fine.
ze_result_t zeMemPutIpcHandle(ze_context_handle_t hContext, ze_ipc_mem_handle_t handle) {
    ZE_CPU_NEED_HANDLE(hContext);
    return guarded([&] {
        const HandleData data = read(handle);
        std::lock_guard lock(exports().mutex);
        auto entry = exports().files.find(key(data.file));
        if (entry != exports().files.end() && --entry->second.second == 0)
            exports().files.erase(entry);
        return ZE_RESULT_SUCCESS;
    });
}

ze_result_t zeMemGetFileDescriptorFromIpcHandleExp(ze_context_handle_t hContext,
                                                   ze_ipc_mem_handle_t ipcHandle, uint64_t *pHandle) {
    ZE_CPU_NEED_HANDLE(hContext);
    ZE_CPU_NEED_POINTER(pHandle);
    return guarded([&]() -> ze_result_t {
        const HandleData data = read(ipcHandle);
        if (fcntl(data.descriptor, F_GETFD) < 0) // of another process, or put
            return ZE_RESULT_ERROR_INVALID_ARGUMENT;
        *pHandle = uint64_t(data.descriptor);
        return ZE_RESULT_SUCCESS;
    });
}

ze_result_t zeMemGetIpcHandleFromFileDescriptorExp(ze_context_handle_t hContext, uint64_t handle,
                                                   ze_ipc_mem_handle_t *pIpcHandle) {
    ZE_CPU_NEED_HANDLE(hContext);
    ZE_CPU_NEED_POINTER(pIpcHandle);
    return guarded([&]() -> ze_result_t {
        std::shared_ptr<MemoryFile> file = handle <= INT32_MAX ? MemoryFile::open(int(handle)) : nullptr;
        if (!file)
            return ZE_RESULT_ERROR_INVALID_ARGUMENT;
        *pIpcHandle = write({int32_t(handle), magic, int32_t(getpid()), ZE_MEMORY_TYPE_DEVICE, file->size(),
                             file->identity()});
        return ZE_RESULT_SUCCESS;
    });
}

} // namespace ze_cpu
