// SPDX-License-Identifier: Apache-2.0
// Sharing memory with another process: the test starts itself again as that process, which runs a
// kernel on the memory.
#include <atomic>
#include <thread>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>

#include "other_process.h"

namespace {

constexpr int count = 5000; // no whole number of pages
constexpr size_t bytes = count * sizeof(int);
/// The other process adds 1 to what it is sent.
void serve(int socket) {
    const auto add = make_kernel("add_one");
    const auto list = immediate_list();
    serve_all(
        socket, &Message::memory, [&](const Message &message) { // 'o': open and add, 'r': must be refused
            void *memory = nullptr;
            const ze_result_t result = ze.zeMemOpenIpcHandle(context, device, message.memory, 0, &memory);
            if (message.kind == 'r') {
                REFUSED(INVALID_ARGUMENT, result);
                return;
            }
            OK(result);
            void *again = got(ze.zeMemOpenIpcHandle, context, device, message.memory, 0);
            CHECK(again != memory);
            set_arg(add, 0, memory);
            launch(list, add, count / 8, 8);
            finish(list);
            CHECK(std::memcmp(memory, again, bytes) == 0); // one memory in two places
            REFUSED(INVALID_ARGUMENT, ze.zeMemFree(context, memory));
            OK(ze.zeMemCloseIpcHandle(context, memory));
            REFUSED(INVALID_ARGUMENT, ze.zeMemCloseIpcHandle(context, memory));
            OK(ze.zeMemCloseIpcHandle(context, again));
        });
}

int *allocate(ze_memory_type_t type) {
    return static_cast<int *>(::allocate(type, bytes));
}

void expect(const int *values, int added) {
    for (int i = 0; i < count; i++)
        CHECK(values[i] == 3 * i + added);
}

/// Contents survive the first export, and each side sees what the other writes, whichever way the
/// handle was passed.
void of_each_kind(Other &other) {
    for (ze_memory_type_t type : {ZE_MEMORY_TYPE_HOST, ZE_MEMORY_TYPE_DEVICE, ZE_MEMORY_TYPE_SHARED}) {
        int *values = allocate(type);
        for (int i = 0; i < count; i++)
            values[i] = 3 * i;
        ze_ipc_mem_handle_t handle{}, second{};
        OK(ze.zeMemGetIpcHandle(context, values, &handle));
        expect(values, 0);
        OK(ze.zeMemGetIpcHandle(context, values + 7, &second));
        CHECK(std::memcmp(&handle, &second, sizeof handle) == 0);
        other.ask({'o', handle, {}});
        expect(values, 1);

        int descriptor = -1;
        std::memcpy(&descriptor, handle.data, sizeof descriptor);
        CHECK(int(got(ze.zeMemGetFileDescriptorFromIpcHandleExp, context, handle)) == descriptor);
        other.ask({'o', {}, {}}, descriptor); // nothing but the descriptor arrives
        expect(values, 2);
        other.ask({'o', handle, {}}, descriptor);
        expect(values, 3);
        const auto made = got(ze.zeMemGetIpcHandleFromFileDescriptorExp, context, uint64_t(descriptor));
        other.ask({'o', made, {}});
        expect(values, 4);

        CHECK(properties_of(values).type == type);
        OK(ze.zeMemPutIpcHandle(context, handle));
        other.ask({'o', second, {}}); // the second handle has not been put
        OK(ze.zeMemPutIpcHandle(context, second));
        OK(ze.zeMemPutIpcHandle(context, second)); // Level Zero knows no error for that
        OK(ze.zeMemFree(context, values));
        other.ask({'r', handle, {}});
    }
}

/// Handles outlive the allocation until they are put.
void freed_first(Other &other) {
    int *values = allocate(ZE_MEMORY_TYPE_DEVICE);
    auto handle = got(ze.zeMemGetIpcHandle, context, values);
    OK(ze.zeMemFree(context, values));
    other.ask({'o', handle, {}});
    OK(ze.zeMemPutIpcHandle(context, handle));
    other.ask({'r', handle, {}});
}

/// A handle that means a FIFO of this process. The other process must not open it: that would count as a
/// writer, which this process sees.
void of_a_fifo(Other &other, ze_ipc_mem_handle_t handle) {
    char folder[] = "/tmp/ze_cpu_test_XXXXXX";
    CHECK(mkdtemp(folder));
    const std::string path = std::string(folder) + "/fifo";
    CHECK(mkfifo(path.c_str(), 0600) == 0);
    const int fifo = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    struct stat info {};
    CHECK(fifo >= 0 && fstat(fifo, &info) == 0);
    const uint64_t identity[2] = {uint64_t(info.st_dev), uint64_t(info.st_ino)};
    std::memcpy(handle.data, &fifo, sizeof fifo);
    std::memcpy(handle.data + 24, identity, sizeof identity);
    other.ask({'r', handle, {}});
    pollfd seen{fifo, POLLIN, 0};
    CHECK(poll(&seen, 1, 0) == 0);
    close(fifo);
    CHECK(unlink(path.c_str()) == 0 && rmdir(folder) == 0);
}

/// Handles that are none, or mean something else, are refused in both processes.
void forged(Other &other) {
    int *values = allocate(ZE_MEMORY_TYPE_DEVICE);
    auto handle = got(ze.zeMemGetIpcHandle, context, values);
    // The descriptor is only a hint; the rest finds the file: process at byte 8, size at 16, identity at 24.
    for (size_t i : {8, 9, 10, 11, 19, 23, 24, 31, 32, 33, 39}) {
        ze_ipc_mem_handle_t wrong = handle;
        wrong.data[i] ^= 0x41;
        other.ask({'r', wrong, {}});
    }
    ze_ipc_mem_handle_t wrong{};
    other.ask({'r', wrong, {}}); // descriptor 0
    of_a_fifo(other, handle);
    const int null = open("/dev/null", O_RDWR);
    CHECK(null >= 0);
    other.ask({'r', {}, {}}, null);
    REFUSED(INVALID_ARGUMENT, ze.zeMemGetIpcHandleFromFileDescriptorExp(context, uint64_t(null), &wrong));
    REFUSED(INVALID_ARGUMENT, ze.zeMemGetIpcHandleFromFileDescriptorExp(context, UINT64_MAX, &wrong));
    close(null);
    int local = 0;
    REFUSED(INVALID_ARGUMENT, ze.zeMemGetIpcHandle(context, &local, &handle));
    REFUSED(INVALID_ARGUMENT, ze.zeMemCloseIpcHandle(context, values));
    void *memory = nullptr;
    REFUSED(INVALID_ENUMERATION, ze.zeMemOpenIpcHandle(context, device, handle, 1u << 9, &memory));
    OK(ze.zeMemPutIpcHandle(context, handle));
    OK(ze.zeMemFree(context, values));
}

/// malloc uses the pages of freed memory again, so they must be private.
void freed_pages() {
    for (int round = 0; round < 20; round++) {
        int *values = allocate(ZE_MEMORY_TYPE_DEVICE);
        auto handle = got(ze.zeMemGetIpcHandle, context, values);
        auto mapped = got(ze.zeMemOpenIpcHandle, context, device, handle, 0);
        std::memset(mapped, 0x55, bytes);
        OK(ze.zeMemFree(context, values));
        std::vector<std::vector<char>> others;
        for (size_t size = 16; size < 4 * bytes; size *= 2)
            others.emplace_back(size, 'a');
        for (int *more : {allocate(ZE_MEMORY_TYPE_DEVICE), allocate(ZE_MEMORY_TYPE_HOST)}) {
            std::memset(more, 0x66, bytes);
            OK(ze.zeMemFree(context, more));
        }
        for (size_t i = 0; i < bytes; i++)
            CHECK(static_cast<char *>(mapped)[i] == 0x55);
        OK(ze.zeMemCloseIpcHandle(context, mapped));
        OK(ze.zeMemPutIpcHandle(context, handle));
    }
}

/// Kernels that are submitted before and during the first export must not lose what they write.
void export_under_way() {
    constexpr int many = 4 << 20, launches = 20;
    const auto add = make_kernel("add_one");
    const auto list = immediate_list();
    for (int round = 0; round < 5; round++) {
        void *memory = ::allocate(ZE_MEMORY_TYPE_DEVICE, many * sizeof(int));
        std::memset(memory, 0, many * sizeof(int));
        set_arg(add, 0, memory);
        std::atomic<bool> started{false};
        std::thread other([&] {
            for (int i = 0; i < launches; i++) {
                launch(list, add, many / 64, 64);
                started = true;
            }
        });
        while (!started)
            std::this_thread::yield();
        auto handle = got(ze.zeMemGetIpcHandle, context, memory);
        other.join();
        finish(list);
        for (int i = 0; i < many; i++)
            CHECK(static_cast<int *>(memory)[i] == launches);
        OK(ze.zeMemPutIpcHandle(context, handle));
        OK(ze.zeMemFree(context, memory));
    }
}

/// The first export waits for a kernel that runs until the host ends it, and the host needs the driver before
/// it does.
void export_during_a_long_kernel() {
    const auto until_told = make_kernel("until_told");
    const auto list = immediate_list();
    const auto flag = shared<volatile int>(sizeof(int));
    int *values = allocate(ZE_MEMORY_TYPE_DEVICE);
    for (int i = 0; i < count; i++)
        values[i] = 3 * i;
    *flag = 0;
    set_arg(until_told, 0, flag);
    launch(list, until_told, 1, 1);
    std::atomic<bool> exporting{false};
    std::thread host([&] {
        while (!exporting)
            std::this_thread::yield();
        for (int round = 0; round < 100; round++) {
            const auto other = immediate_list();
            OK(ze.zeMemFree(context, allocate(ZE_MEMORY_TYPE_SHARED)));
        }
        *flag = 1;
    });
    ze_ipc_mem_handle_t handle{};
    exporting = true;
    OK(ze.zeMemGetIpcHandle(context, values, &handle));
    host.join();
    finish(list);
    expect(values, 0);
    OK(ze.zeMemPutIpcHandle(context, handle));
    OK(ze.zeMemFree(context, values));
}

} // namespace

int main(int argc, char **argv) {
    const auto with_other = [](Other &other) {
        of_each_kind(other);
        freed_first(other);
        forged(other);
    };
    const auto alone = [] {
        freed_pages();
        export_under_way();
        export_during_a_long_kernel();
    };
    return main_of_both(argc, argv, serve, with_other, alone);
}
