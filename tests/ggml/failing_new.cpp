// SPDX-License-Identifier: Apache-2.0
// Preloaded: lets operator new fail where libggml-zemm.so calls it, and counts what that library holds.
// failing_new_from(n, count): the calls n to n + count - 1 from now on fail; n < 0: none.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <link.h>
#include <new>

namespace {

uintptr_t first, last; // the library's code
long next, begin = -1, end = -1, live;
bool has_failed;

// Before each piece of memory, so that its delete knows whose it was.
struct alignas(std::max_align_t) header {
    bool is_counted;
};

int find_library(dl_phdr_info *info, size_t, void *) {
    if (!info->dlpi_name || !std::strstr(info->dlpi_name, "libggml-zemm"))
        return 0;
    for (int i = 0; i < info->dlpi_phnum; ++i)
        if (const auto &part = info->dlpi_phdr[i]; part.p_type == PT_LOAD && part.p_flags & PF_X) {
            first = info->dlpi_addr + part.p_vaddr;
            last = first + part.p_memsz;
        }
    return 1;
}

void *allocate(size_t size, void *caller) {
    const bool is_counted = uintptr_t(caller) >= first && uintptr_t(caller) < last;
    if (is_counted) {
        const long index = __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED);
        if (index >= begin && index < end) {
            has_failed = true;
            throw std::bad_alloc();
        }
        __atomic_fetch_add(&live, 1, __ATOMIC_RELAXED);
    }
    auto *const made = static_cast<header *>(std::malloc(sizeof(header) + size));
    if (!made)
        throw std::bad_alloc();
    made->is_counted = is_counted;
    return made + 1;
}

void release(void *memory) noexcept {
    if (!memory)
        return;
    header *const made = static_cast<header *>(memory) - 1;
    if (made->is_counted)
        __atomic_fetch_sub(&live, 1, __ATOMIC_RELAXED);
    std::free(made);
}

} // namespace

extern "C" {
void failing_new_from(long n, long count) {
    dl_iterate_phdr(find_library, nullptr);
    next = 0;
    begin = n;
    end = n < 0 ? n : n + count;
    has_failed = false;
}
int failing_new_has_failed() {
    return has_failed;
}
long failing_new_live() {
    return live;
}
}

void *operator new(size_t size) {
    return allocate(size, __builtin_return_address(0));
}
void *operator new[](size_t size) {
    return allocate(size, __builtin_return_address(0));
}
void operator delete(void *memory) noexcept {
    release(memory);
}
void operator delete[](void *memory) noexcept {
    release(memory);
}
void operator delete(void *memory, size_t) noexcept {
    release(memory);
}
void operator delete[](void *memory, size_t) noexcept {
    release(memory);
}
