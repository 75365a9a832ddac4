// SPDX-License-Identifier: Apache-2.0
// Shared by the tests of the CPU driver. The first argument of a test says where it gets the
// functions from: the driver's own tables ("direct"), or the system's Level Zero loader ("loader",
// "validation"). Without a loader the test is skipped.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <level_zero/ze_api.h>

#include "border/entry_points.h"
#include "child.h"
#include "test_case.hpp"

/// All functions by their names: ze.zeInit(0). A function that a loader is too old for is the driver's own.
struct Functions {
#define ZE_CPU_HAS(minor, name) decltype(&::name) name = nullptr;
#define ZE_CPU_NEWER(minor, name) decltype(&ze_cpu::name) name = nullptr;
#include "functions.def"
};
extern Functions ze;
extern bool direct; // the functions are the driver's own: nothing between them and us
extern void *driver_library;
extern ze_driver_handle_t driver;
extern ze_device_handle_t device;
extern ze_context_handle_t context;
extern ze_command_list_handle_t list;    // an immediate one, which main.cpp makes
extern ze_init_flags_t first_init_flags; // what open_driver calls zeInit with: 0, unless a test sets it

/// Opens the driver as the first argument says and makes a context. Exits with 77 to skip.
void open_driver(int argc, char **argv);

/// A driver that nobody has initialised: its zeInit(), and its reason for the last refusal of that.
struct UnopenedDriver {
    explicit UnopenedDriver(const char *path = std::getenv("ZE_CPU_TEST_LIBRARY"));
    void *library;
    decltype(&zeInit) init;
    const char *(*why)();
};

long resident_kb(); // what of this process is in memory

/// Ends a test that has failed. Without the handlers of exit(), because other threads of the test may still
/// use the driver.
[[noreturn]] inline void fail() {
    std::fflush(stdout);
    std::_Exit(1);
}

#define CHECK(condition)                                                                                     \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            std::printf("%s:%d: failed: %s\n", __FILE__, __LINE__, #condition);                              \
            fail();                                                                                          \
        }                                                                                                    \
    } while (0)

#define CHECK_RESULT(call, expected)                                                                         \
    do {                                                                                                     \
        ze_result_t result_ = (call);                                                                        \
        if (result_ != (expected)) {                                                                         \
            std::printf("%s:%d: %s gave 0x%x and not %s\n", __FILE__, __LINE__, #call, unsigned(result_),    \
                        #expected);                                                                          \
            fail();                                                                                          \
        }                                                                                                    \
    } while (0)
#define OK(call) CHECK_RESULT(call, ZE_RESULT_SUCCESS)
#define NOT_READY(call) CHECK_RESULT(call, ZE_RESULT_NOT_READY)
#define REFUSED(why, call) CHECK_RESULT(call, ZE_RESULT_ERROR_##why)
/// The driver's sentence for the last refusal has this part.
#define SAYS(part) CHECK(last_refusal().find(part) != std::string::npos)

/// The type that a call writes through its last parameter, and what it writes.
template <class... P>
using Written = std::remove_pointer_t<std::tuple_element_t<sizeof...(P) - 1, std::tuple<P...>>>;
template <class... P, class... A> auto got(ze_result_t (*call)(P...), A &&...arguments) {
    Written<P...> value{};
    OK(call(arguments..., &value));
    return value;
}
template <class T> T of_type(ze_structure_type_t type, const void *next = nullptr) {
    T made{};
    made.stype = type;
    made.pNext = const_cast<void *>(next);
    return made;
}
/// A structure that a call fills, with another one behind it.
template <class... P, class... A>
auto filled(ze_structure_type_t type, void *next, ze_result_t (*call)(P...), A &&...arguments) {
    auto value = of_type<Written<P...>>(type, next);
    OK(call(arguments..., &value));
    return value;
}
template <class... P, class... A>
auto filled(ze_structure_type_t type, ze_result_t (*call)(P...), A &&...arguments) {
    return filled(type, nullptr, call, arguments...);
}
#define REFUSED_APPEND(why, append, ...) REFUSED(why, ze.append(__VA_ARGS__, nullptr, 0, nullptr))
/// Appends a command that signals nothing and waits for nothing.
template <class... P, class... A> void append(ze_result_t (*call)(P...), A &&...arguments) {
    OK(call(arguments..., nullptr, 0, nullptr));
}

#define TEST_DESTROY(handle, function)                                                                       \
    inline void destroy(handle object) { OK(ze.function(object)); }
TEST_DESTROY(ze_command_list_handle_t, zeCommandListDestroy)
TEST_DESTROY(ze_command_queue_handle_t, zeCommandQueueDestroy)
TEST_DESTROY(ze_event_handle_t, zeEventDestroy)
TEST_DESTROY(ze_event_pool_handle_t, zeEventPoolDestroy)
TEST_DESTROY(ze_fence_handle_t, zeFenceDestroy)
TEST_DESTROY(ze_image_handle_t, zeImageDestroy)
TEST_DESTROY(ze_kernel_handle_t, zeKernelDestroy)
TEST_DESTROY(ze_module_handle_t, zeModuleDestroy)
TEST_DESTROY(ze_sampler_handle_t, zeSamplerDestroy)
#undef TEST_DESTROY
inline void destroy(ze_physical_mem_handle_t memory) {
    OK(ze.zePhysicalMemDestroy(context, memory));
}
/// Memory of this driver. Handles point to types without a definition.
template <class T>
    requires(std::is_void_v<T> || requires { sizeof(T); })
void destroy(T *memory) {
    OK(ze.zeMemFree(context, const_cast<std::remove_cv_t<T> *>(memory)));
}

/// Destroys its object at the end of the scope, or with end().
template <class T> class Owned {
public:
    explicit Owned(T object = nullptr) : object_(object) {}
    Owned(Owned &&other) : object_(other.release()) {}
    Owned &operator=(Owned &&other) {
        std::swap(object_, other.object_);
        return *this;
    }
    ~Owned() { end(); }
    void end() {
        if (object_)
            destroy(release());
    }
    T release() { return std::exchange(object_, nullptr); }
    operator T() const & { return object_; }
    operator T() && = delete; // the object would be gone at once
    T operator->() const { return object_; }
    T *operator&() const { return const_cast<T *>(&object_); } // for calls that take arrays

private:
    T object_;
};
/// The object that a call makes.
template <class... P, class... A> auto made(ze_result_t (*call)(P...), A &&...arguments) {
    return Owned(got(call, arguments...));
}

std::string last_refusal(); // the driver's sentence for the last call that it refused in this thread
std::vector<uint8_t> read_file(const std::string &name); // from the folder in ZE_CPU_TEST_DIR
Owned<ze_module_handle_t> load_module(const char *file);
/// zeModuleCreate(). log: what the build says.
ze_result_t build(const std::vector<uint8_t> &code, ze_module_handle_t *module, std::string *log = nullptr,
                  ze_module_format_t format = ZE_MODULE_FORMAT_IL_SPIRV, const char *flags = nullptr,
                  const ze_module_constants_t *constants = nullptr);
/// Links several inputs.
ze_result_t build_linked(const std::vector<std::vector<uint8_t>> &codes, ze_module_handle_t *module,
                         std::string *log = nullptr);
/// Runs a kernel with one work-item, whose argument is an int that begins with `value`, and seven more.
std::vector<int> run(ze_module_handle_t module, const char *kernel, int value = 0);
/// The text of the log, which it destroys. Empty if there is none.
std::string take_log(ze_module_build_log_handle_t log);
std::vector<uint8_t> native_of(ze_module_handle_t module);
ze_module_handle_t loaded(const char *file); // a module that all tests share
Owned<ze_kernel_handle_t> make_kernel(const char *name, ze_module_handle_t module = loaded("kernels.spv"));
Owned<ze_command_list_handle_t>
immediate_list(ze_command_queue_mode_t mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
Owned<ze_command_list_handle_t> regular_list();
Owned<ze_command_queue_handle_t>
make_queue(ze_command_queue_mode_t mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
Owned<ze_event_pool_handle_t> make_pool(uint32_t count,
                                        ze_event_pool_flags_t flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE,
                                        const void *next = nullptr);
Owned<ze_event_handle_t> make_event(ze_event_pool_handle_t pool, uint32_t index);
Owned<ze_event_handle_t> make_event(); // of a pool that all tests share
void *allocate(ze_memory_type_t type, size_t size, size_t alignment = 0);
ze_memory_allocation_properties_t properties_of(const void *memory, void *next = nullptr,
                                                ze_device_handle_t *owner = nullptr);
uint64_t device_time();
template <class T> Owned<T *> shared(size_t size, size_t alignment = 0) {
    return Owned(static_cast<T *>(allocate(ZE_MEMORY_TYPE_SHARED, size, alignment)));
}
template <class T> Owned<T *> zeros(size_t size) {
    auto memory = shared<T>(size);
    std::memset(memory, 0, size);
    return memory;
}

template <class T> void set_arg(ze_kernel_handle_t kernel, uint32_t index, const T &value) {
    OK(ze.zeKernelSetArgumentValue(kernel, index, sizeof value, &value));
}
template <class T> void set_arg(ze_kernel_handle_t kernel, uint32_t index, const Owned<T> &value) {
    set_arg(kernel, index, T(value));
}
/// All arguments of a kernel.
template <class... Ts> void set_args(ze_kernel_handle_t kernel, const Ts &...values) {
    uint32_t index = 0;
    (set_arg(kernel, index++, values), ...);
}
void launch(ze_command_list_handle_t list, ze_kernel_handle_t kernel, uint32_t groups, uint32_t group_size,
            ze_event_handle_t signal = nullptr, std::vector<ze_event_handle_t> waits = {});
/// Launches a kernel that runs for so many rounds, of a nanosecond or more. Returns what it writes at its
/// end.
const volatile int *spin(ze_command_list_handle_t list, int rounds, ze_event_handle_t signal = nullptr);
void finish(ze_command_list_handle_t list);
