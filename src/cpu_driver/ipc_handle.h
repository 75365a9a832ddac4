// SPDX-License-Identifier: Apache-2.0
//
// What the driver writes into an IPC handle.
//
// A handle starts with a file descriptor of the exporting process: programs made for Intel's GPU driver
// send that over a socket and put the one that they receive in its place. What follows tells which file of
// which process it is, so that the handle is also good as it stands: it is opened through /proc then, which
// the system allows to processes of the same user. Files are the driver's own memfds, of fixed size: a wrong
// handle maps nothing else.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>

#include "memory_file.h"

namespace ze_cpu {

struct IpcHandle {
    enum Kind : uint32_t { of_descriptor = 0, of_memory = 0x697a6370, of_events = 0x657a6370 };

    int32_t descriptor = -1;
    Kind kind = of_descriptor;
    int32_t process = 0;
    uint32_t type = 0; // of memory: ze_memory_type_t
    uint64_t size = 0; // 0: that of the file
    MemoryFile::Identity file;

    /// A handle to this file, of this process.
    static IpcHandle make(Kind kind, const MemoryFile &file);

    /// Of a handle that is not of this kind only the descriptor counts: the caller wrote it, and whatever was
    /// in the memory behind it.
    template <class Opaque> static IpcHandle read(const Opaque &handle, Kind kind) {
        static_assert(sizeof(IpcHandle) <= sizeof handle.data);
        IpcHandle data;
        std::memcpy(&data, handle.data, sizeof data);
        if (data.kind == kind)
            return data;
        IpcHandle bare;
        bare.descriptor = data.descriptor;
        return bare;
    }
    template <class Opaque> Opaque write() const {
        Opaque handle{};
        std::memcpy(handle.data, this, sizeof *this);
        return handle;
    }

    /// The file that it means; null if that is gone or was never ours.
    std::shared_ptr<MemoryFile> resolve() const;
};

} // namespace ze_cpu
