// SPDX-License-Identifier: Apache-2.0
//
// Appends of copies, fills and memory hints. The pointers may point to any memory of the process.
#include <algorithm>
#include <array>
#include <cstring>

#include "border/border.h"
#include "border/entry_points.h"
#include "command_list.h"
#include "stream/crew.h"

namespace ze_cpu {
namespace {

constexpr size_t max_pattern = 128;

void fill(void *to, const std::array<uint8_t, max_pattern> &pattern, size_t pattern_size, size_t size) {
    auto *bytes = static_cast<uint8_t *>(to);
    if (pattern_size == 1) {
        std::memset(bytes, pattern[0], size);
        return;
    }
    // The bytes filled so far are whole patterns: copies them behind themselves, up to 64 KiB at a
    // time.
    size_t done = std::min(pattern_size, size);
    std::memcpy(bytes, pattern.data(), done);
    while (done < size) {
        const size_t step = std::min({done, size - done, size_t(64) << 10});
        std::memcpy(bytes + done, bytes, step);
        done += step;
    }
}

struct Box {
    uint8_t *base;
    size_t pitch, slice;
    uint8_t *row(size_t y, size_t z) const { return base + y * pitch + z * slice; }
};

Box make_box(void *pointer, const ze_copy_region_t &r, size_t pitch, size_t slice) {
    pitch = pitch ? pitch : r.width;
    slice = slice ? slice : pitch * r.height;
    return {static_cast<uint8_t *>(pointer) + r.originX + r.originY * pitch + r.originZ * slice, pitch,
            slice};
}

} // namespace

ze_result_t zeCommandListAppendMemoryCopy(ze_command_list_handle_t hCommandList, void *dstptr,
                                          const void *srcptr, size_t size, ze_event_handle_t hSignalEvent,
                                          uint32_t numWaitEvents, ze_event_handle_t *phWaitEvents) {
    check_append(hCommandList, numWaitEvents, phWaitEvents);
    need_pointers(dstptr, srcptr);
    auto copy = [dstptr, srcptr, size] { std::memmove(dstptr, srcptr, size); };
    return append_function(hCommandList, copy, hSignalEvent, numWaitEvents, phWaitEvents);
}

ze_result_t zeCommandListAppendMemoryCopyFromContext(ze_command_list_handle_t hCommandList, void *dstptr,
                                                     ze_context_handle_t hContextSrc, const void *srcptr,
                                                     size_t size, ze_event_handle_t hSignalEvent,
                                                     uint32_t numWaitEvents,
                                                     ze_event_handle_t *phWaitEvents) {
    need_handles(hCommandList, hContextSrc);
    return ze_cpu::zeCommandListAppendMemoryCopy(hCommandList, dstptr, srcptr, size, hSignalEvent,
                                                 numWaitEvents, phWaitEvents);
}

ze_result_t zeCommandListAppendMemoryFill(ze_command_list_handle_t hCommandList, void *ptr,
                                          const void *pattern, size_t pattern_size, size_t size,
                                          ze_event_handle_t hSignalEvent, uint32_t numWaitEvents,
                                          ze_event_handle_t *phWaitEvents) {
    check_append(hCommandList, numWaitEvents, phWaitEvents);
    need_pointers(ptr, pattern);
    if (pattern_size == 0 || pattern_size > max_pattern || (pattern_size & (pattern_size - 1)) != 0 ||
        size % pattern_size != 0)
        return ZE_RESULT_ERROR_INVALID_SIZE;
    std::array<uint8_t, max_pattern> bytes{};
    std::memcpy(bytes.data(), pattern, pattern_size); // the caller may free it before the fill runs
    auto work = [ptr, bytes, pattern_size, size] { fill(ptr, bytes, pattern_size, size); };
    return append_function(hCommandList, work, hSignalEvent, numWaitEvents, phWaitEvents);
}

ze_result_t zeCommandListAppendMemoryCopyRegion(ze_command_list_handle_t hCommandList, void *dstptr,
                                                const ze_copy_region_t *dstRegion, uint32_t dstPitch,
                                                uint32_t dstSlicePitch, const void *srcptr,
                                                const ze_copy_region_t *srcRegion, uint32_t srcPitch,
                                                uint32_t srcSlicePitch, ze_event_handle_t hSignalEvent,
                                                uint32_t numWaitEvents, ze_event_handle_t *phWaitEvents) {
    check_append(hCommandList, numWaitEvents, phWaitEvents);
    need_pointers(dstptr, dstRegion, srcptr, srcRegion);
    if (dstRegion->width != srcRegion->width || dstRegion->height != srcRegion->height ||
        dstRegion->depth != srcRegion->depth)
        return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    const Box to = make_box(dstptr, *dstRegion, dstPitch, dstSlicePitch);
    const Box from = make_box(const_cast<void *>(srcptr), *srcRegion, srcPitch, srcSlicePitch);
    const size_t width = dstRegion->width, height = dstRegion->height, depth = std::max(1u, dstRegion->depth);
    auto copy = [=] {
        for (size_t z = 0; z < depth; z++)
            for (size_t y = 0; y < height; y++)
                std::memmove(to.row(y, z), from.row(y, z), width);
    };
    return append_function(hCommandList, copy, hSignalEvent, numWaitEvents, phWaitEvents);
}

ze_result_t zeCommandListAppendMemoryPrefetch(ze_command_list_handle_t hCommandList, const void *ptr,
                                              size_t size) {
    check_append(hCommandList, 0, nullptr);
    need_pointers(ptr);
    if (hCommandList->submission)
        crew::fetch(ptr, size);
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeCommandListAppendMemAdvise(ze_command_list_handle_t hCommandList, ze_device_handle_t hDevice,
                                         const void *ptr, size_t, ze_memory_advice_t advice) {
    check_append(hCommandList, 0, nullptr);
    need_handles(hDevice);
    need_pointers(ptr);
    return advice > newest_memory_advice ? ZE_RESULT_ERROR_INVALID_ENUMERATION : ZE_RESULT_SUCCESS;
}

// The chain pNext of the appends of Level Zero 1.16 and 1.17 must be null: this driver knows no extension.

ze_result_t zeCommandListAppendMemoryCopyWithParameters(ze_command_list_handle_t hCommandList, void *dstptr,
                                                        const void *srcptr, size_t size, const void *pNext,
                                                        ze_event_handle_t hSignalEvent,
                                                        uint32_t numWaitEvents,
                                                        ze_event_handle_t *phWaitEvents) {
    if (pNext)
        return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
    return ze_cpu::zeCommandListAppendMemoryCopy(hCommandList, dstptr, srcptr, size, hSignalEvent,
                                                 numWaitEvents, phWaitEvents);
}

ze_result_t zeCommandListAppendMemoryFillWithParameters(ze_command_list_handle_t hCommandList, void *ptr,
                                                        const void *pattern, size_t pattern_size, size_t size,
                                                        const void *pNext, ze_event_handle_t hSignalEvent,
                                                        uint32_t numWaitEvents,
                                                        ze_event_handle_t *phWaitEvents) {
    if (pNext)
        return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
    return ze_cpu::zeCommandListAppendMemoryFill(hCommandList, ptr, pattern, pattern_size, size, hSignalEvent,
                                                 numWaitEvents, phWaitEvents);
}

} // namespace ze_cpu
