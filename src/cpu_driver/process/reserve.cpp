// SPDX-License-Identifier: Apache-2.0
#include "reserve.h"

#include <atomic>
#include <cstdlib>

#include <malloc.h>
#include <sys/mman.h>

namespace ze_cpu {
namespace {

constexpr size_t bytes = size_t(4) << 20; // never touched: it only counts for the limits

std::atomic<void *> the_reserve{nullptr};

/// Gives the reserve to the system, from which the next allocation takes it.
void spend() noexcept {
    if (void *memory = the_reserve.exchange(nullptr))
        munmap(memory, bytes);
}

template <class Allocation> void *allocate(const Allocation &allocation) {
    if (void *memory = allocation()) [[likely]]
        return memory;
    spend();
    return allocation(); // another thread may have spent it for both
}

} // namespace

bool has_reserve() noexcept {
    if (the_reserve.load(std::memory_order_relaxed)) [[likely]]
        return true;
    void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return false;
    void *none = nullptr;
    if (!the_reserve.compare_exchange_strong(none, memory))
        munmap(memory, bytes); // another thread was faster
    return true;
}

void *reserve_malloc(size_t size) {
    return allocate([=] { return std::malloc(size); });
}

void *reserve_calloc(size_t count, size_t size) {
    return allocate([=] { return std::calloc(count, size); });
}

void *reserve_realloc(void *old, size_t size) {
    if (size == 0) // returns null and frees
        return std::realloc(old, size);
    return allocate([=] { return std::realloc(old, size); });
}

void *reserve_aligned_alloc(size_t alignment, size_t size) {
    return allocate([=] { return aligned_alloc(alignment, size); });
}

void *reserve_memalign(size_t alignment, size_t size) {
    return allocate([=] { return memalign(alignment, size); });
}

int reserve_posix_memalign(void **to, size_t alignment, size_t size) {
    const int error = posix_memalign(to, alignment, size);
    if (error == 0) [[likely]]
        return error;
    spend();
    return posix_memalign(to, alignment, size);
}

} // namespace ze_cpu
