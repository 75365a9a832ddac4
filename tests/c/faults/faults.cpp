// SPDX-License-Identifier: Apache-2.0
#include "faults.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <tuple>
#include <type_traits>
#include <unordered_set>
#include <utility>

#include <dlfcn.h>
#include <sys/mman.h>

#include "cpu_driver/opencl/opencl_api.h"

namespace faults {
namespace {

thread_local int inside_depth = 0;
// How deep this thread is in the OpenCL runtime, in the dynamic linker, or in this file. Failures
// are only for the libraries under test, not for these.
thread_local int elsewhere_depth = 0;

struct elsewhere {
    elsewhere() { elsewhere_depth++; }
    ~elsewhere() { elsewhere_depth--; }
};

bool is_inside() {
    return inside_depth > 0 && elsewhere_depth == 0;
}

std::atomic<kind> planned_kind{kind::allocation};
std::atomic<long> planned{-1}, points{0};

std::atomic<const char *> refused_part{nullptr}, refused_reason{nullptr};
std::atomic<long> opened{0};
thread_local const char *pending_reason = nullptr; // the next answer of dlerror()

// ---- live blocks; the set's own memory does not go through operator new

template <typename T> struct plain_allocator {
    using value_type = T;
    plain_allocator() = default;
    template <typename U> plain_allocator(const plain_allocator<U> &) {}
    T *allocate(size_t count) { return static_cast<T *>(std::malloc(count * sizeof(T))); }
    void deallocate(T *p, size_t) { std::free(p); }
    bool operator==(const plain_allocator &) const { return true; }
};

struct block_set {
    std::mutex lock;
    std::unordered_set<void *, std::hash<void *>, std::equal_to<void *>, plain_allocator<void *>> blocks;
};
block_set &live() {
    static block_set &instance = *new (std::malloc(sizeof(block_set))) block_set;
    return instance;
}

void note(void *block) {
    const elsewhere not_ours;
    const std::lock_guard hold(live().lock);
    live().blocks.insert(block);
}

void forget(void *block) {
    const std::lock_guard hold(live().lock);
    live().blocks.erase(block);
}

} // namespace

inside::inside() {
    inside_depth++;
}
inside::~inside() {
    inside_depth--;
}

void plan(kind what, long number) {
    planned_kind = what;
    planned = number;
    points = 0;
}

long passed() {
    return points;
}

bool has_failed() {
    return planned >= 0 && points > planned;
}

bool fails(kind what) {
    return is_inside() && what == planned_kind && points++ == planned;
}

void refuse_opening(const char *part, const char *reason) {
    refused_part = part;
    refused_reason = reason;
    opened = 0;
}

long openings() {
    return opened;
}

long live_blocks() {
    const std::lock_guard hold(live().lock);
    return long(live().blocks.size());
}

// ---- the OpenCL runtime: a wrapper of each function

namespace {

std::atomic<long> opencl_objects{0};

enum class opencl_id {
#define ID(name, result, parameters) name,
    ZE_CPU_OPENCL_FUNCTIONS(ID)
#undef ID
        clSetKernelArgMemPointerINTEL
};

template <opencl_id Id, typename Function> struct wrapped;
template <opencl_id Id, typename R, typename... A> struct wrapped<Id, R (*)(A...)> {
    static inline R (*next)(A...);

    static R call(A... a) {
        const elsewhere not_ours;
        R result = next(a...);
        if constexpr (std::is_pointer_v<R> && Id != opencl_id::clGetExtensionFunctionAddressForPlatform) {
            opencl_objects += result != nullptr;
        } else if constexpr (Id == opencl_id::clRetainEvent) {
            opencl_objects++;
        } else if constexpr (Id == opencl_id::clReleaseEvent || Id == opencl_id::clReleaseKernel ||
                             Id == opencl_id::clReleaseProgram || Id == opencl_id::clReleaseCommandQueue) {
            opencl_objects--;
        } else if constexpr (sizeof...(A) > 0) {
            const auto last = std::get<sizeof...(A) - 1>(std::tuple<A...>(a...));
            if constexpr (std::is_same_v<decltype(last), ze_cpu::cl::Event *const>)
                opencl_objects += result == ze_cpu::cl::success && last;
        }
        return result;
    }
};

void *find_extension(ze_cpu::cl::Platform platform, const char *name) {
    using ze_cpu::cl::Api;
    using set_pointer = decltype(Api::clSetKernelArgMemPointerINTEL);
    using ask = wrapped<opencl_id::clGetExtensionFunctionAddressForPlatform,
                        decltype(Api::clGetExtensionFunctionAddressForPlatform)>;
    void *found = ask::call(platform, name);
    if (!found || std::strcmp(name, "clSetKernelArgMemPointerINTEL") != 0)
        return found;
    using wrapper = wrapped<opencl_id::clSetKernelArgMemPointerINTEL, set_pointer>;
    wrapper::next = reinterpret_cast<set_pointer>(found);
    return reinterpret_cast<void *>(&wrapper::call);
}

// The function that dlsym() returns for a name of the OpenCL runtime.
void *wrap_opencl(const char *name, void *found) {
    using namespace ze_cpu::cl;
#define WRAP(function, result, parameters)                                                                   \
    if (!std::strcmp(name, #function)) {                                                                     \
        using wrapper = wrapped<opencl_id::function, decltype(Api::function)>;                               \
        wrapper::next = reinterpret_cast<decltype(Api::function)>(found);                                    \
        return opencl_id::function == opencl_id::clGetExtensionFunctionAddressForPlatform                    \
                   ? reinterpret_cast<void *>(&find_extension)                                               \
                   : reinterpret_cast<void *>(&wrapper::call);                                               \
    }
    ZE_CPU_OPENCL_FUNCTIONS(WRAP)
#undef WRAP
    return found;
}

template <typename Function> Function real(const char *name) {
    void *found = dlvsym(RTLD_NEXT, name, "GLIBC_2.34"); // libc.so.6 has it since this version
    if (!found)
        found = dlvsym(RTLD_NEXT, name, "GLIBC_2.2.5");
    if (!found)
        std::abort();
    return reinterpret_cast<Function>(found);
}

} // namespace

long live_opencl_objects() {
    return opencl_objects;
}

} // namespace faults

using namespace faults;

namespace {

void *allocate(std::size_t size, std::size_t alignment) {
    if (fails(kind::allocation))
        throw std::bad_alloc();
    void *block =
        aligned_alloc(alignment, (std::max<size_t>(size, 1) + alignment - 1) / alignment * alignment);
    if (!block)
        throw std::bad_alloc();
    if (is_inside())
        note(block);
    return block;
}

} // namespace

// Replaced in the whole process. All other forms of new and delete call these.
void *operator new(std::size_t size) {
    return allocate(size, alignof(std::max_align_t));
}

void *operator new(std::size_t size, std::align_val_t alignment) {
    return allocate(size, std::size_t(alignment));
}

void operator delete(void *block) noexcept {
    forget(block);
    std::free(block);
}

void operator delete(void *block, std::size_t) noexcept {
    operator delete(block);
}

void operator delete(void *block, std::align_val_t) noexcept {
    operator delete(block);
}

void operator delete(void *block, std::size_t, std::align_val_t) noexcept {
    operator delete(block);
}

extern "C" int posix_memalign(void **pointer, size_t alignment, size_t size) noexcept {
    if (fails(kind::allocation))
        return ENOMEM;
    void *block = aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
    if (!block)
        return ENOMEM;
    *pointer = block;
    return 0;
}

namespace {

// Whether the driver itself makes a request of the C library: other libraries make the same ones.
bool fails_for_driver(const void *caller) {
    Dl_info info{};
    return is_inside() && dladdr(caller, &info) && info.dli_fname &&
           std::strstr(info.dli_fname, "libze_cpu") && fails(kind::allocation);
}

} // namespace

extern "C" void *__libc_malloc(size_t size);
extern "C" void *malloc(size_t size) noexcept {
    if (!fails_for_driver(__builtin_return_address(0)))
        return __libc_malloc(size);
    errno = ENOMEM;
    return nullptr;
}

extern "C" void *mmap64(void *at, size_t size, int protection, int flags, int file, off64_t offset) noexcept {
    static const auto next = real<void *(*)(void *, size_t, int, int, int, off64_t)>("mmap64");
    if (!fails_for_driver(__builtin_return_address(0)))
        return next(at, size, protection, flags, file, offset);
    errno = ENOMEM;
    return MAP_FAILED;
}

extern "C" void *dlopen(const char *file, int mode) noexcept {
    static const auto next = real<void *(*)(const char *, int)>("dlopen");
    pending_reason = nullptr;
    const char *part = refused_part;
    if (is_inside() && part && file && std::strstr(file, part)) {
        opened++;
        if (refused_reason) {
            pending_reason = refused_reason;
            return nullptr;
        }
    }
    if (is_inside() && file && std::strstr(file, "libze_intel_")) { // allocations of others
        pending_reason = "Intel's drivers are not under test";
        return nullptr;
    }
    if (fails(kind::opening)) {
        pending_reason = "a library: cannot open shared object file: Cannot allocate memory";
        return nullptr;
    }
    const elsewhere not_ours; // the library's constructors are not under test
    return next(file, mode);
}

extern "C" char *dlerror() noexcept {
    static const auto next = real<char *(*)()>("dlerror");
    if (pending_reason)
        return const_cast<char *>(std::exchange(pending_reason, nullptr));
    return next();
}

extern "C" void *dlsym(void *handle, const char *name) noexcept {
    static const auto next = real<void *(*)(void *, const char *)>("dlsym");
    void *found = next(handle, name);
    return found && is_inside() && !std::strncmp(name, "cl", 2) ? wrap_opencl(name, found) : found;
}
