// SPDX-License-Identifier: Apache-2.0
//
// What every entry point does at the border: refuse null handles and pointers, let no exception out but the
// one that ends a cancelled thread.
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

/// What the exception that is being handled says.
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

/// Runs the body of an entry point that may allocate.
template <class Body> ze_result_t guarded(Body body) {
    try {
        return body();
    } catch (...) {
        if (!std::current_exception()) // not one of C++: the thread's cancellation
            throw;
        return current_error();
    }
}

/// The two-call protocol of lists: count 0 or no array asks for the number, else up to *count elements are
/// copied.
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
