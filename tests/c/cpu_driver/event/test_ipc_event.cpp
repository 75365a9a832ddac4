// SPDX-License-Identifier: Apache-2.0
// Sharing events with another process: the test starts itself again as that process. Hosts and
// kernels of each side signal, reset and wait for what the other side does.
#include <filesystem>
#include <fstream>
#include <thread>

#include <fcntl.h>
#include <sys/mman.h>

#include "in_threads.hpp"
#include "other_process.h"

namespace {

constexpr int count = 4096, links = 20, chains = 3, rounds = 100;
constexpr size_t bytes = count * sizeof(int);
constexpr uint32_t ping = 0, pong = 1, first_link = 2; // indices of events
constexpr uint32_t events = first_link + chains * (2 * links + 1);
constexpr uint64_t forever = UINT64_MAX;
constexpr uint32_t ipc_flags = ZE_EVENT_POOL_FLAG_IPC | ZE_EVENT_POOL_FLAG_HOST_VISIBLE;

/// What each process has of the shared pool and memory.
struct Shared {
    ze_event_pool_handle_t pool = nullptr;
    int *values = nullptr;
    std::vector<Owned<ze_event_handle_t>> event;

    /// Creates all events. That clears them in the process that made the pool; in the other they
    /// keep their states.
    void make_events() {
        for (uint32_t i = 0; i < events; i++)
            event.push_back(make_event(pool, i));
    }
};

void add(ze_command_list_handle_t list, int *values, ze_event_handle_t signal,
         std::vector<ze_event_handle_t> waits) {
    const auto kernel = make_kernel("add_one");
    set_arg(kernel, 0, values);
    launch(list, kernel, count / 64, 64, signal, std::move(waits));
}

void expect(const int *values, int expected) {
    for (int i = 0; i < count; i++)
        CHECK(values[i] == expected);
}

/// Each side waits for its event, resets it, and signals the other's.
void host_rounds(ze_event_handle_t own, ze_event_handle_t other) {
    for (int round = 0; round < rounds; round++) {
        OK(ze.zeEventHostSynchronize(own, forever));
        OK(ze.zeEventHostReset(own));
        OK(ze.zeEventHostSignal(other));
    }
}

/// Kernels of both sides take turns: this side has every second link of each chain, from `first`
/// on. The hosts only submit. Each chain has its own list, and a thread that submits to it.
void kernel_chains(const Shared &with, uint32_t first) {
    in_threads(chains, [&](int chain) {
        const auto list = immediate_list();
        for (uint32_t link = first; link < 2 * links; link += 2) {
            const uint32_t at = first_link + uint32_t(chain) * (2 * links + 1) + link;
            add(list, with.values + chain * count, with.event[at + 1], {with.event[at]});
        }
        finish(list);
    });
}

/// Whether a thread of this process watches for signals of other processes, judged by its name.
bool has_watcher() {
    for (const auto &task : std::filesystem::directory_iterator("/proc/self/task")) {
        std::string name;
        std::getline(std::ifstream(task.path() / "comm"), name);
        if (name == "ze_cpu_events")
            return true;
    }
    return false;
}

/// A list waits for an event that never comes, and is destroyed. The watching thread then ends.
void given_up(Shared &with) {
    CHECK(!has_watcher());
    auto list = immediate_list();
    add(list, with.values, nullptr, {with.event[pong]});
    while (!has_watcher()) // the thread names itself when it runs
        std::this_thread::yield();
    list.end();
    with.event.clear();
    while (has_watcher())
        std::this_thread::yield();
}

void do_as_asked(char kind, Shared &with) {
    ze_event_handle_t first = with.event[ping], second = with.event[pong];
    ze_kernel_timestamp_result_t times{};
    switch (kind) {
    case 'h':
        host_rounds(first, second);
        break;
    case 'c':
        kernel_chains(with, 1);
        break;
    case 'w': // what the kernel wrote before its signal is visible
        OK(ze.zeEventHostSynchronize(first, forever));
        expect(with.values, 1);
        OK(ze.zeEventQueryKernelTimestamp(first, &times));
        std::memcpy(with.values, &times, sizeof times);
        break;
    case 's':
        OK(ze.zeEventQueryStatus(first));
        OK(ze.zeEventHostReset(first));
        OK(ze.zeEventHostSignal(second));
        break;
    case 't':
        NOT_READY(ze.zeEventHostSynchronize(second, 1'000'000));
        break;
    case 'g':
        given_up(with);
        break;
    default:
        CHECK(false);
    }
}

void serve(int socket) {
    Shared with;
    serve_all(socket, &Message::events, [&](const Message &message) {
        const ze_result_t result = ze.zeEventPoolOpenIpcHandle(context, message.events, &with.pool);
        if (message.kind == 'r') {
            REFUSED(INVALID_ARGUMENT, result);
            return;
        }
        OK(result);
        auto memory = got(ze.zeMemOpenIpcHandle, context, device, message.memory, 0);
        with.values = static_cast<int *>(memory);
        with.make_events();
        do_as_asked(message.kind, with);
        with.event.clear();
        OK(ze.zeMemCloseIpcHandle(context, memory));
        REFUSED(INVALID_ARGUMENT, ze.zeEventPoolDestroy(with.pool));
        OK(ze.zeEventPoolCloseIpcHandle(with.pool));
    });
}

/// This process's side of a test, with the handles for the other process.
struct Test {
    Other &other;
    Shared with;
    Message message{};

    Test(Other &to) : other(to) {
        void *memory = allocate(ZE_MEMORY_TYPE_DEVICE, chains * bytes);
        OK(ze.zeMemGetIpcHandle(context, memory, &message.memory));
        std::memset(memory, 0, chains * bytes);
        with.values = static_cast<int *>(memory);
        with.pool = make_pool(events, ipc_flags).release();
        OK(ze.zeEventPoolGetIpcHandle(with.pool, &message.events));
        with.make_events();
    }
    ~Test() {
        with.event.clear();
        OK(ze.zeEventPoolPutIpcHandle(context, message.events));
        REFUSED(INVALID_ARGUMENT, ze.zeEventPoolCloseIpcHandle(with.pool));
        OK(ze.zeEventPoolDestroy(with.pool));
        OK(ze.zeMemFree(context, with.values));
    }
    void tell(char kind) {
        message.kind = kind;
        other.tell(message);
    }
    void ask(char kind) {
        tell(kind);
        other.hear();
    }
};

void hosts(Other &other) {
    Test test(other);
    OK(ze.zeEventHostSignal(test.with.event[pong])); // starts the rounds
    test.tell('h');
    host_rounds(test.with.event[pong], test.with.event[ping]);
    other.hear();
    OK(ze.zeEventQueryStatus(test.with.event[pong]));
}

void kernels(Other &other) {
    Test test(other);
    test.tell('c');
    for (int chain = 0; chain < chains; chain++)
        OK(ze.zeEventHostSignal(test.with.event[first_link + chain * (2 * links + 1)]));
    kernel_chains(test.with, 0);
    other.hear();
    for (int chain = 0; chain < chains; chain++)
        expect(test.with.values + chain * count, 2 * links);
}

/// A regular list, executed when the other process may wait already. That process sees its timestamps.
void kernel_to_host(Other &other) {
    Test test(other);
    const auto queue = make_queue(ZE_COMMAND_QUEUE_MODE_DEFAULT);
    const auto list = regular_list();
    add(list, test.with.values, test.with.event[ping], {});
    OK(ze.zeCommandListClose(list));
    test.tell('w');
    OK(ze.zeCommandQueueExecuteCommandLists(queue, 1, &list, nullptr));
    other.hear();
    ze_kernel_timestamp_result_t times{}, there{};
    OK(ze.zeEventQueryKernelTimestamp(test.with.event[ping], &times));
    std::memcpy(&there, test.with.values, sizeof there);
    CHECK(times.global.kernelStart > 0 && times.global.kernelEnd > times.global.kernelStart);
    CHECK(std::memcmp(&times, &there, sizeof times) == 0);
    OK(ze.zeCommandQueueSynchronize(queue, forever));
}

/// After a wait for the list, or for the event, the other process sees the event as signalled, too.
void seen_at_once(Other &other) {
    Test test(other);
    const auto list = immediate_list();
    for (int round = 0; round < 10; round++) {
        test.ask('t'); // nothing yet
        add(list, test.with.values, test.with.event[ping], {});
        if (round % 2)
            finish(list);
        else
            OK(ze.zeEventHostSynchronize(test.with.event[ping], forever));
        test.ask('s');
        NOT_READY(ze.zeEventQueryStatus(test.with.event[ping]));
        OK(ze.zeEventQueryStatus(test.with.event[pong]));
        OK(ze.zeEventHostReset(test.with.event[pong]));
    }
    finish(list);
    expect(test.with.values, 10);
}

void refusals(Other &other) {
    Test test(other);
    test.ask('t');
    int descriptor = -1;
    std::memcpy(&descriptor, test.message.events.data, sizeof descriptor);
    const ze_ipc_event_pool_handle_t handle = test.message.events;
    test.message.events = {}; // nothing but the descriptor arrives
    test.message.kind = 't';
    other.ask(test.message, descriptor);
    std::memcpy(test.message.events.data, test.message.memory.data, sizeof handle.data);
    test.ask('r'); // a handle of memory
    std::memcpy(&descriptor, test.message.memory.data, sizeof descriptor);
    test.message.kind = 'r';
    other.ask(test.message, descriptor);
    test.message.events = handle;
    void *memory = nullptr;
    ze_ipc_mem_handle_t wrong{};
    std::memcpy(wrong.data, handle.data, sizeof wrong.data);
    wrong.data[0] = wrong.data[1] = 0x7f; // no descriptor of this process
    REFUSED(INVALID_ARGUMENT, ze.zeMemOpenIpcHandle(context, device, wrong, 0, &memory));

    const auto plain = make_pool(1);
    ze_ipc_event_pool_handle_t none{};
    REFUSED(INVALID_ARGUMENT, ze.zeEventPoolGetIpcHandle(plain, &none));
}

/// A file with the name and the seals of this driver's that is shorter than a pool's header, or than what
/// that says.
void short_files() {
    struct {
        uint64_t magic = 0x73746e6576657a63;
        uint32_t count = 1u << 20, flags = 0;
        uint64_t rest[64] = {};
    } header;
    for (const size_t size : {size_t(1), size_t(16), size_t(63), size_t(64), sizeof header}) {
        const int descriptor = memfd_create("ze_cpu", MFD_ALLOW_SEALING);
        CHECK(descriptor >= 0 && write(descriptor, &header, size) == ssize_t(size));
        CHECK(fcntl(descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0);
        ze_ipc_event_pool_handle_t handle{};
        std::memcpy(handle.data, &descriptor, sizeof descriptor);
        ze_event_pool_handle_t pool = nullptr;
        REFUSED(INVALID_ARGUMENT, ze.zeEventPoolOpenIpcHandle(context, handle, &pool));
        close(descriptor);
    }
}

/// At the fork a list of the parent waits. The child waits for its copy of that list, and before for a list
/// of its own, if it has one, that waits for the same event.
void forked_with_one_event(Other &other, bool has_own_list) {
    Test test(other);
    const auto list = immediate_list();
    add(list, test.with.values, nullptr, {test.with.event[ping]});
    const pid_t child = start_child([&] {
        int from = 7, to = 0;
        const auto own = has_own_list ? immediate_list() : Owned<ze_command_list_handle_t>();
        if (own)
            OK(ze.zeCommandListAppendMemoryCopy(own, &to, &from, sizeof to, nullptr, 1,
                                                &test.with.event[ping]));
        OK(ze.zeEventHostSignal(test.with.event[pong]));
        if (own)
            finish(own);
        CHECK(to == (own ? from : 0));
        finish(list);
    });
    OK(ze.zeEventHostSynchronize(test.with.event[pong], forever));
    OK(ze.zeEventHostSignal(test.with.event[ping]));
    CHECK(wait_for(child) == 0);
    finish(list);
}

/// A child of fork() shares the pool, and needs a watcher of its own.
void forked(Other &other) {
    Test test(other);
    const auto list = immediate_list();
    add(list, test.with.values, nullptr, {test.with.event[first_link]});
    while (!has_watcher())
        std::this_thread::yield();
    const pid_t child = start_child([&] {
        const auto own = immediate_list();
        OK(ze.zeEventHostSignal(test.with.event[pong]));
        add(own, test.with.values, nullptr, {test.with.event[ping]});
        finish(own);
        expect(test.with.values, 1);
    });
    OK(ze.zeEventHostSynchronize(test.with.event[pong], forever));
    OK(ze.zeEventHostSignal(test.with.event[ping]));
    CHECK(wait_for(child) == 0);
    OK(ze.zeEventHostSignal(test.with.event[first_link]));
    finish(list);
    expect(test.with.values, 2);
}

} // namespace

int main(int argc, char **argv) {
    return main_of_both(argc, argv, serve, [](Other &other) {
        hosts(other);
        kernels(other);
        kernel_to_host(other);
        seen_at_once(other);
        refusals(other);
        short_files();
        Test(other).ask('g');
        forked(other);
        for (const bool has_own_list : {true, false})
            forked_with_one_event(other, has_own_list);
    });
}
