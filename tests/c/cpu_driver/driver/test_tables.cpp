// SPDX-License-Identifier: Apache-2.0
// The exported tables: for every version that a loader may ask with, exactly the slots of that version are
// filled. Every function of them refuses null handles and null pointers.
#include <dlfcn.h>

#include <level_zero/ze_ddi.h>
#include <level_zero/zes_ddi.h>
#include <level_zero/zet_ddi.h>

#include "ze_test.h"

/// The number of slots that the headers declare for a getter's table. 0 for getters that are not in the
/// headers: they are found here only.
namespace headers {
template <class Table>
std::integral_constant<size_t, sizeof(Table) / sizeof(void *)>
slots(ze_result_t (*)(ze_api_version_t, Table *), int);
std::integral_constant<size_t, 0> slots(void (*)(), long);
#define ZE_CPU_TABLE(getter) void getter();
#define ZE_CPU_HAS(minor, name)
#define ZE_CPU_NEWER(minor, name)
#define ZE_CPU_LACKS(minor, name)
#define ZE_CPU_END
#define ZE_CPU_EMPTY(getter)
#include "border/tables.def"
} // namespace headers

namespace {

using namespace headers;
using Getter = ze_result_t (*)(ze_api_version_t, void *);
constexpr size_t room = 128;
void *const poison = reinterpret_cast<void *>(uintptr_t(0x5a5a5a5a));

Getter find(const char *name) {
    auto getter = reinterpret_cast<Getter>(dlsym(driver_library, name));
    if (!getter)
        std::printf("not exported: %s\n", name);
    CHECK(getter);
    return getter;
}

/// The number of slots that the getter fills for version 1.<minor>. They are the first ones and not
/// null, and nothing after them is written.
size_t filled(Getter getter, uint32_t minor) {
    void *table[room];
    for (void *&slot : table)
        slot = poison;
    OK(getter(ze_api_version_t(ZE_MAKE_VERSION(1, minor)), table));
    size_t count = 0;
    while (count < room && table[count] != poison)
        CHECK(table[count++] != nullptr);
    for (size_t i = count; i < room; i++)
        CHECK(table[i] == poison);
    return count;
}

void check_core(const char *name, size_t slots_in_header) {
    Getter getter = find(name);
    const uint32_t header = ZE_MINOR_VERSION(uint32_t(ZE_API_VERSION_CURRENT));
    if (slots_in_header && header <= 18 && filled(getter, header) != slots_in_header) {
        std::printf("%s fills %zu slots, the headers have %zu\n", name, filled(getter, header),
                    slots_in_header);
        std::exit(1);
    }
    size_t before = 0;
    for (uint32_t minor = 0; minor < 40; minor++) {
        size_t now = filled(getter, minor);
        CHECK(now >= before);
        before = now;
    }
    void *table[room];
    REFUSED(UNSUPPORTED_VERSION, getter(ze_api_version_t(ZE_MAKE_VERSION(2, 0)), table));
    REFUSED(INVALID_NULL_POINTER, getter(ZE_API_VERSION_1_0, nullptr));
}

void check_tool(const char *name) {
    void *table[room] = {};
    OK(find(name)(ZE_API_VERSION_CURRENT, table));
}

TEST(lacking) {
    void *table[room] = {};
    OK(find("zeGetDeviceExpProcAddrTable")(ZE_API_VERSION_1_4, table));
    const auto get_vertex = reinterpret_cast<decltype(&zeDeviceGetFabricVertexExp)>(table[0]);
    ze_fabric_vertex_handle_t vertex = nullptr;
    REFUSED(UNSUPPORTED_FEATURE, get_vertex(device, &vertex));
}

TEST(drivers_by_type) {
    struct {
        ze_structure_type_t stype;
        const void *next;
        uint32_t flags;
    } desc{};
    using InitDrivers = ze_result_t (*)(uint32_t *, ze_driver_handle_t *, void *);
    void *table[room] = {};
    OK(find("zeGetGlobalProcAddrTable")(ze_api_version_t(ZE_MAKE_VERSION(1, 10)), table));
    auto init = reinterpret_cast<InitDrivers>(table[1]);
    uint32_t count = 0;
    desc.flags = 1; // GPUs only
    REFUSED(UNINITIALIZED, init(&count, nullptr, &desc));
    desc.flags = UINT32_MAX;
    OK(init(&count, nullptr, &desc));
    ze_driver_handle_t handle = nullptr;
    OK(init(&count, &handle, &desc));
    CHECK(count == 1 && handle == driver);
    REFUSED(UNINITIALIZED, ze.zeInit(ZE_INIT_FLAG_GPU_ONLY));
}

TEST(tables) {
#define ZE_CPU_TABLE(getter) check_core(#getter, decltype(slots(getter, 0))::value);
#define ZE_CPU_HAS(minor, name)
#define ZE_CPU_NEWER(minor, name)
#define ZE_CPU_LACKS(minor, name)
#define ZE_CPU_END
#define ZE_CPU_EMPTY(getter) check_tool(#getter);
#include "border/tables.def"
}

template <class T> constexpr bool is_complete = requires { sizeof(T); };
template <class T>
constexpr bool is_handle = std::is_pointer_v<T> && std::is_class_v<std::remove_pointer_t<T>> &&
                           !is_complete<std::remove_pointer_t<T>>;
template <class T, class Tuple> constexpr bool has = false;
template <class T, class... All> constexpr bool has<T, std::tuple<All...>> = (std::is_same_v<T, All> || ...);
template <class T>
constexpr bool is_output =
    std::is_pointer_v<T> && !is_handle<T> && !std::is_const_v<std::remove_pointer_t<T>>;

/// Valid handles of most types.
struct Handles {
    Owned<ze_command_queue_handle_t> queue = make_queue();
    Owned<ze_kernel_handle_t> kernel = make_kernel("add_one");
    Owned<ze_event_pool_handle_t> pool = make_pool(1);
    Owned<ze_event_handle_t> event = make_event(pool, 0);
    std::tuple<ze_driver_handle_t, ze_device_handle_t, ze_context_handle_t, ze_command_list_handle_t,
               ze_command_queue_handle_t, ze_module_handle_t, ze_kernel_handle_t, ze_event_pool_handle_t,
               ze_event_handle_t>
        all{driver, device, context, list, queue, loaded("kernels.spv"), kernel, pool, event};

    template <class T> static constexpr bool have = !is_handle<T> || has<T, decltype(all)>;
    /// A handle, or a null pointer or 0.
    template <class T> T get() const {
        if constexpr (is_handle<T>)
            return std::get<T>(all);
        else
            return T();
    }
};

int wrong = 0; // calls with an unexpected result

/// Passes nothing but nulls, and then valid handles without the pointer through which the function answers.
template <class First, class... A>
void check_nulls(const Handles &handles, const char *name, ze_result_t (*call)(First, A...)) {
    using Last = std::tuple_element_t<sizeof...(A), std::tuple<First, A...>>;
    const auto refused = [&](ze_result_t wanted, auto... arguments) {
        const ze_result_t result = call(arguments...);
        if (result == wanted)
            return;
        std::printf("%s gave 0x%x and not 0x%x\n", name, unsigned(result), unsigned(wanted));
        wrong++;
    };
    if constexpr (is_handle<First>)
        refused(ZE_RESULT_ERROR_INVALID_NULL_HANDLE, First(), A()...);
    if constexpr (is_handle<First> && is_output<Last> && !std::is_same_v<Last, ze_event_handle_t *> &&
                  (Handles::have<First> && ... && Handles::have<A>))
        refused(ZE_RESULT_ERROR_INVALID_NULL_POINTER, handles.get<First>(), handles.get<A>()...);
}
template <class R, class... A> void check_nulls(const Handles &, const char *, R (*)(A...)) {}

TEST(nulls) {
    const Handles handles;
#define ZE_CPU_HAS(minor, name) check_nulls(handles, #name, ze.name);
#define ZE_CPU_NEWER(minor, name) ZE_CPU_HAS(minor, name)
#include "functions.def"
    CHECK(wrong == 0);
    REFUSED(INVALID_NULL_POINTER, ze.zeContextCreate(driver, nullptr, &context));
    REFUSED(INVALID_NULL_POINTER, ze.zeKernelCreate(loaded("kernels.spv"), nullptr, nullptr));
    REFUSED_APPEND(INVALID_NULL_HANDLE, zeCommandListAppendLaunchKernel, list, nullptr, nullptr);
    REFUSED_APPEND(INVALID_NULL_POINTER, zeCommandListAppendMemoryCopy, list, nullptr, nullptr, 1);
    REFUSED(INVALID_NULL_HANDLE, ze.zeCommandListAppendSignalEvent(list, nullptr));
    REFUSED(INVALID_SIZE, ze.zeCommandListAppendBarrier(list, nullptr, 2, nullptr));
}

} // namespace
