// SPDX-License-Identifier: Apache-2.0
//
// Helpers for the entry points of the C API: they refuse null handles and pointers, and turn C++
// exceptions into result codes. Only the unwinding of a cancelled thread (pthread_cancel) passes
// through.
#pragma once

#include <exception>
#include <new>

#include <level_zero/ze_api.h>

#define ZE_CPU_NEED_HANDLE(handle)                                                                           \
    if (!(handle))                                                                                           \
    return ZE_RESULT_ERROR_INVALID_NULL_HANDLE
#define ZE_CPU_NEED_POINTER(pointer)                                                                         \
    if (!(pointer))                                                                                          \
    return ZE_RESULT_ERROR_INVALID_NULL_POINTER

namespace ze_cpu {

/// The result code for the exception that is being handled. To be called in a catch block only.
inline ze_result_t current_error() noexcept {
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

/// Runs the body of an entry point and turns its exceptions into result codes.
template <class Body> ze_result_t guarded(Body body) {
    try {
        return body();
    } catch (...) {
        if (!std::current_exception()) // a cancelled thread unwinds, which must go on
            throw;
        return current_error();
    }
}

/// Level Zero's protocol for lists. A count of 0 or a null array asks for the number of elements.
/// Otherwise up to *count elements are written.
template <class T, class Fill>
ze_result_t answer_list(uint32_t available, uint32_t *count, T *array, Fill fill) {
    ZE_CPU_NEED_POINTER(count);
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
