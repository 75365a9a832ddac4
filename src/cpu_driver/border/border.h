// SPDX-License-Identifier: Apache-2.0
//
// Helpers for the entry points of the C API. An entry point may throw a ze_result_t or any other
// exception: Gated (fork_gate.h) turns it into a result code. Only the unwinding of a cancelled thread
// (pthread_cancel) passes through.
#pragma once

#include <exception>
#include <new>

#include <level_zero/ze_api.h>

namespace ze_cpu {

template <class... Handles> void need_handles(Handles... handles) {
    if (!(handles && ...))
        throw ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
}

template <class Handle> void need_each_handle(uint32_t count, const Handle *handles) {
    for (uint32_t i = 0; i < count; i++)
        need_handles(handles[i]);
}

template <class... Pointers> void need_pointers(Pointers... pointers) {
    if (!(pointers && ...))
        throw ZE_RESULT_ERROR_INVALID_NULL_POINTER;
}

/// The result code for the exception that is being handled. To be called in a catch block only.
[[gnu::noinline, gnu::cold]] inline ze_result_t current_error() noexcept {
    try {
        throw;
    } catch (ze_result_t result) {
        return result;
    } catch (const std::bad_alloc &) {
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    } catch (...) {
        return ZE_RESULT_ERROR_UNKNOWN;
    }
}

/// Answers a query with what read() finds in the object behind the handle.
template <class Handle, class T, class Read> ze_result_t answer(Handle handle, T *to, Read read) {
    need_handles(handle);
    need_pointers(to);
    *to = read(*handle);
    return ZE_RESULT_SUCCESS;
}

template <class Handle> ze_result_t destroy(Handle handle) {
    need_handles(handle);
    delete handle;
    return ZE_RESULT_SUCCESS;
}

/// Calls visit(structure) for each structure of a pNext chain.
template <class Visit> void each_next(const void *next, Visit visit) {
    for (auto *p = static_cast<const ze_base_desc_t *>(next); p;
         p = static_cast<const ze_base_desc_t *>(p->pNext))
        visit(*p);
}

/// Finds the structure of this type in a pNext chain; null if there is none.
template <class T> T *find_next(const void *next, ze_structure_type_t type) {
    T *found = nullptr;
    each_next(next, [&](const ze_base_desc_t &structure) {
        if (structure.stype == type && !found)
            found = reinterpret_cast<T *>(const_cast<ze_base_desc_t *>(&structure));
    });
    return found;
}

/// Level Zero's protocol for lists. A count of 0 or a null array asks for the number of elements.
/// Otherwise up to *count elements are written.
template <class T, class Fill>
ze_result_t answer_list(uint32_t available, uint32_t *count, T *array, Fill fill) {
    need_pointers(count);
    if (*count == 0 || !array) {
        if (*count == 0 || *count > available)
            *count = available;
        return ZE_RESULT_SUCCESS;
    }
    if (*count > available)
        *count = available;
    for (uint32_t i = 0; i < *count; i++)
        fill(i, array[i]);
    return ZE_RESULT_SUCCESS;
}

} // namespace ze_cpu
