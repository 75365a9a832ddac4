// SPDX-License-Identifier: Apache-2.0
//
// The contents of the driver's IPC handles.
//
// A handle starts with a file descriptor of the exporting process. Programs made for Intel's GPU
// driver send this descriptor over a socket and put the received one in its place. The rest of the
// handle says which file of which process it is, so that an unchanged handle works, too: the file
// is then opened through /proc, which the system allows to processes of the same user. The files
// are memfds of this driver with a sealed size, so a wrong handle cannot map any other file.
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
    uint32_t type = 0; // of memory: its ze_memory_type_t
    uint64_t size = 0; // 0: the size of the file
    MemoryFile::Identity file;

    /// Makes a handle of this process for the file.
    static IpcHandle make(Kind kind, const MemoryFile &file);

    /// Reads a handle. If it is not of this kind, only its descriptor is used: the caller may have
    /// written a descriptor into memory that is not initialised.
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

    /// Opens the file that the handle means. Null if it is gone or was never a file of this driver.
    std::shared_ptr<MemoryFile> resolve() const;
};

} // namespace ze_cpu
