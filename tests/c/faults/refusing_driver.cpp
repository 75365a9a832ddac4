// SPDX-License-Identifier: Apache-2.0
// Passes every call to the driver that REFUSING_DRIVER_TARGET names, unless a test refuses it.
#include "refusing_driver.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include <dlfcn.h>

#include "border/entry_points.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

judges current;

// ---- things that still exist, recorded without allocations, because tests make these fail

struct live_thing {
    const char *maker; // the function that made it
    const void *handle;
};
live_thing things[1 << 14];
int thing_count = 0;
std::mutex things_lock;

void add(const char *maker, const void *handle) {
    const std::lock_guard hold(things_lock);
    if (thing_count == int(sizeof things / sizeof *things)) {
        std::fprintf(stderr, "too many things at once\n");
        std::abort();
    }
    things[thing_count++] = {maker, handle};
}

void remove(const char *destroyer, const void *handle) {
    const std::lock_guard hold(things_lock);
    for (int i = thing_count - 1; i >= 0; i--)
        if (things[i].handle == handle) {
            things[i] = things[--thing_count];
            return;
        }
    std::fprintf(stderr, "%s: there is no %p\n", destroyer, handle);
    std::abort();
}

// ---- calls

// Whether a function makes the thing that its last argument points to, or frees its last argument.
constexpr bool makes(std::string_view name) {
    return name.ends_with("Create") || name.ends_with("CreateImmediate") || name == "zeMemAllocHost" ||
           name == "zeMemAllocDevice";
}
constexpr bool frees(std::string_view name) {
    return name.ends_with("Destroy") || name == "zeMemFree";
}

template <typename... A> auto last(A... a) {
    return std::get<sizeof...(A) - 1>(std::tuple<A...>(a...));
}

ze_result_t judge(const char *name) {
    return current.call ? current.call(name) : ZE_RESULT_SUCCESS;
}

// The functions of tables.def by number, with their names.
enum number : unsigned {
#define ZE_CPU_HAS(minor, function) number_##function,
#define ZE_CPU_NEWER(minor, function) ZE_CPU_HAS(minor, function)
#include "functions.def"
};
constexpr const char *names[] = {
#define ZE_CPU_HAS(minor, function) #function,
#define ZE_CPU_NEWER(minor, function) ZE_CPU_HAS(minor, function)
#include "functions.def"
};

// Takes the place of the function with this number in the driver's table.
template <unsigned Number, typename Function> struct wrapped;
template <unsigned Number, typename... A> struct wrapped<Number, ze_result_t (*)(A...)> {
    static constexpr const char *name = names[Number];
    static inline ze_result_t (*next)(A...);

    static ze_result_t call(A... a) {
        ze_result_t verdict = judge(name);
        if constexpr (Number == number_zeKernelCreate)
            if (verdict == ZE_RESULT_SUCCESS && current.kernel)
                verdict = current.kernel(*std::get<1>(std::tuple<A...>(a...)));
        if (verdict != ZE_RESULT_SUCCESS && !frees(name))
            return verdict;
        if constexpr (frees(name))
            remove(name, last(a...));
        const ze_result_t result = next(a...);
        if constexpr (makes(name))
            if (result == ZE_RESULT_SUCCESS)
                add(name, *last(a...));
        return verdict == ZE_RESULT_SUCCESS ? result : verdict;
    }
};

// Puts `wrapper` into a slot and returns what was there.
template <typename F> F exchange(void *&slot, F wrapper) {
    return reinterpret_cast<F>(std::exchange(slot, reinterpret_cast<void *>(wrapper)));
}

// ---- modules, whose creation also makes a build log

decltype(&zeModuleCreate) create_module;
decltype(&zeModuleBuildLogGetString) get_log;
decltype(&zeModuleBuildLogDestroy) destroy_log;

struct refused_log {
    char text[512];
};
// The build logs of refused modules. Their addresses tell them from the target's logs.
refused_log logs[64];
unsigned log_count = 0;

bool is_ours(ze_module_build_log_handle_t log) {
    const auto *at = reinterpret_cast<const refused_log *>(log);
    return at >= logs && at < logs + 64;
}

refusal judge_module(const ze_module_desc_t &desc) {
    if (const ze_result_t verdict = judge("zeModuleCreate"); verdict != ZE_RESULT_SUCCESS)
        return {verdict, "refused"};
    return current.module ? current.module(desc) : refusal{ZE_RESULT_SUCCESS, ""};
}

ze_result_t module_create(ze_context_handle_t context, ze_device_handle_t device,
                          const ze_module_desc_t *desc, ze_module_handle_t *module,
                          ze_module_build_log_handle_t *log) {
    const refusal verdict = judge_module(*desc);
    ze_module_build_log_handle_t made = nullptr;
    ze_result_t result = verdict.result;
    if (result == ZE_RESULT_SUCCESS) {
        result = create_module(context, device, desc, module, log ? &made : nullptr);
        if (result == ZE_RESULT_SUCCESS)
            add("zeModuleCreate", *module);
    } else {
        refused_log &mine = logs[__atomic_fetch_add(&log_count, 1, __ATOMIC_RELAXED) % 64];
        std::snprintf(mine.text, sizeof mine.text, "%s", verdict.log);
        made = reinterpret_cast<ze_module_build_log_handle_t>(&mine);
    }
    if (log && made) {
        add("zeModuleCreate (log)", made);
        *log = made;
    }
    return result;
}

ze_result_t log_get_string(ze_module_build_log_handle_t log, size_t *size, char *text) {
    if (const ze_result_t verdict = judge("zeModuleBuildLogGetString"); verdict != ZE_RESULT_SUCCESS)
        return verdict;
    if (!is_ours(log))
        return get_log(log, size, text);
    const char *mine = reinterpret_cast<const refused_log *>(log)->text;
    if (text)
        std::memcpy(text, mine, *size);
    else
        *size = std::strlen(mine) + 1;
    return ZE_RESULT_SUCCESS;
}

ze_result_t log_destroy(ze_module_build_log_handle_t log) {
    const ze_result_t verdict = judge("zeModuleBuildLogDestroy");
    remove("zeModuleBuildLogDestroy", log);
    const ze_result_t result = is_ours(log) ? ZE_RESULT_SUCCESS : destroy_log(log);
    return verdict == ZE_RESULT_SUCCESS ? result : verdict;
}

// ---- the target's tables

void *target(const char *name) {
    static void *library = [] {
        const char *path = std::getenv("REFUSING_DRIVER_TARGET");
        void *opened = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : nullptr;
        if (!opened)
            std::fprintf(stderr, "REFUSING_DRIVER_TARGET: %s\n", path ? dlerror() : "is not set");
        return opened;
    }();
    return library ? dlsym(library, name) : nullptr;
}

ze_result_t forward(const char *name, ze_api_version_t version, void *table) {
    auto get = reinterpret_cast<ze_result_t (*)(ze_api_version_t, void *)>(target(name));
    return get ? get(version, table) : ZE_RESULT_ERROR_UNINITIALIZED;
}

template <typename Function> struct result_of;
template <typename R, typename... A> struct result_of<R (*)(A...)> {
    using type = R;
};

} // namespace

EXPORT void set_judges(judges wanted) {
    current = wanted;
}

EXPORT int count_live() {
    const std::lock_guard hold(things_lock);
    return thing_count;
}

EXPORT void print_live() {
    const std::lock_guard hold(things_lock);
    for (int i = 0; i < thing_count; i++)
        std::fprintf(stderr, "  %s: %p\n", things[i].maker, things[i].handle);
}

EXPORT const char *zeCpuGetLastError() {
    auto get = reinterpret_cast<const char *(*)()>(target("zeCpuGetLastError"));
    return get ? get() : "the driver that is to be wrapped does not open";
}

// The slots of the table that this version has are wrapped, except those that give no result.
template <unsigned Number, typename Function> void wrap(void *&slot) {
    if constexpr (Number == number_zeModuleCreate)
        create_module = exchange(slot, module_create);
    else if constexpr (Number == number_zeModuleBuildLogGetString)
        get_log = exchange(slot, log_get_string);
    else if constexpr (Number == number_zeModuleBuildLogDestroy)
        destroy_log = exchange(slot, log_destroy);
    else if constexpr (std::is_same_v<typename result_of<Function>::type, ze_result_t>)
        wrapped<Number, Function>::next = exchange(slot, wrapped<Number, Function>::call);
}

#define ZE_CPU_TABLE(getter)                                                                                 \
    EXPORT ze_result_t getter(ze_api_version_t version, void **slot) {                                       \
        const ze_result_t result = forward(#getter, version, slot);                                          \
        if (result != ZE_RESULT_SUCCESS)                                                                     \
            return result;
#define ZE_CPU_HAS(minor, function)                                                                          \
    if (ZE_MINOR_VERSION(version) >= minor)                                                                  \
        wrap<number_##function, decltype(&::function)>(*slot++);
#define ZE_CPU_NEWER(minor, function)                                                                        \
    if (ZE_MINOR_VERSION(version) >= minor)                                                                  \
        wrap<number_##function, decltype(&ze_cpu::function)>(*slot++);
#define ZE_CPU_LACKS(minor, function)                                                                        \
    if (ZE_MINOR_VERSION(version) >= minor)                                                                  \
        slot++;
#define ZE_CPU_END                                                                                           \
    return ZE_RESULT_SUCCESS;                                                                                \
    }
#define ZE_CPU_EMPTY(getter)
#include "border/tables.def"
