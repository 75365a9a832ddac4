// SPDX-License-Identifier: Apache-2.0
//
// Appends of copies between images, and between images and memory.
#include <algorithm>
#include <array>

#include "border/border.h"
#include "border/entry_points.h"
#include "command_list.h"
#include "memory/image.h"
#include "opencl/runtime.h"

namespace ze_cpu {
namespace {

using Extent = std::array<size_t, 3>;
using ImagePtr = std::shared_ptr<Image>;

struct Region {
    Extent origin{0, 0, 0}, size{1, 1, 1};
};

/// Checks and converts a region, which may be empty; null means the whole image. Values for dimensions that
/// the image's type lacks (the height of a 1D image) are ignored. Throws ze_result_t.
Region make_region(const Image &image, const ze_image_region_t *from) {
    if (!from)
        return {{0, 0, 0}, image.extent()};
    Region to{{from->originX, from->originY, from->originZ}, {from->width, from->height, from->depth}};
    const ze_image_type_t type = image.type();
    const bool flat = type != ZE_IMAGE_TYPE_2DARRAY && type != ZE_IMAGE_TYPE_3D;
    const bool line = type == ZE_IMAGE_TYPE_1D || type == ZE_IMAGE_TYPE_BUFFER;
    for (int i = line ? 1 : flat ? 2 : 3; i < 3; i++)
        to.origin[i] = 0, to.size[i] = 1;
    for (int i = 0; i < 3; i++)
        if (to.origin[i] > image.extent()[i] || to.size[i] > image.extent()[i] - to.origin[i])
            throw ZE_RESULT_ERROR_INVALID_ARGUMENT;
    return to;
}

/// OpenCL refuses to copy nothing. Such a copy only waits and signals.
bool is_empty(const Region &region) {
    return std::ranges::count(region.size, 0) != 0;
}

bool overlap(const Region &a, const Region &b) {
    bool all = true;
    for (int i = 0; i < 3; i++)
        all = all && a.origin[i] < b.origin[i] + b.size[i] && b.origin[i] < a.origin[i] + a.size[i];
    return all;
}

class CopyImage final : public Command {
public:
    CopyImage(ImagePtr to, const Region &to_region, ImagePtr from, const Region &from_region)
        : to_(std::move(to)), from_(std::move(from)), to_region_(to_region), from_region_(from_region) {}
    cl::Int enqueue(cl::Queue queue, cl::Uint wait_count, const cl::Event *waits, cl::Event *event) override {
        return opencl().clEnqueueCopyImage(queue, from_->get(), to_->get(), from_region_.origin.data(),
                                           to_region_.origin.data(), from_region_.size.data(), wait_count,
                                           waits, event);
    }

private:
    ImagePtr to_, from_;
    Region to_region_, from_region_;
};

/// Copies between an image and memory.
class TransferImage final : public Command {
public:
    struct Pitches {
        size_t row = 0, slice = 0; // 0: no gaps
    };
    TransferImage(ImagePtr image, const Region &region, void *memory, bool to_memory, Pitches pitches)
        : image_(std::move(image)), region_(region), memory_(memory), to_memory_(to_memory),
          pitches_(pitches) {}
    cl::Int enqueue(cl::Queue queue, cl::Uint wait_count, const cl::Event *waits, cl::Event *event) override {
        const cl::Api &api = opencl();
        if (to_memory_)
            return api.clEnqueueReadImage(queue, image_->get(), 0, region_.origin.data(), region_.size.data(),
                                          pitches_.row, pitches_.slice, memory_, wait_count, waits, event);
        return api.clEnqueueWriteImage(queue, image_->get(), 0, region_.origin.data(), region_.size.data(),
                                       pitches_.row, pitches_.slice, memory_, wait_count, waits, event);
    }

private:
    ImagePtr image_;
    Region region_;
    void *memory_;
    bool to_memory_;
    Pitches pitches_;
};

/// Converts pitches. Level Zero counts the levels of a 1D array as rows, OpenCL as slices. OpenCL
/// refuses a pitch for a dimension that the image's type lacks. Throws ze_result_t.
TransferImage::Pitches make_pitches(const Image &image, const Region &region, uint32_t row, uint32_t slice) {
    const size_t least_row = region.size[0] * image.format().pixel_size;
    if (row && row < least_row)
        throw ZE_RESULT_ERROR_INVALID_SIZE;
    const size_t least_slice = (row ? row : least_row) * region.size[1];
    if (slice && region.size[2] > 1 && slice < least_slice)
        throw ZE_RESULT_ERROR_INVALID_SIZE;
    switch (image.type()) {
    case ZE_IMAGE_TYPE_2DARRAY:
    case ZE_IMAGE_TYPE_3D:
        return {row, slice >= least_slice ? slice : 0};
    case ZE_IMAGE_TYPE_2D:
        return {row, 0};
    case ZE_IMAGE_TYPE_1DARRAY:
        return {row, row}; // OpenCL defines the slice pitch here, but the runtime reads the row pitch
    default:
        return {0, 0};
    }
}

ze_result_t append_transfer(ze_command_list_handle_t list, ze_image_handle_t handle,
                            const ze_image_region_t *wanted, void *memory, bool to_memory, uint32_t row,
                            uint32_t slice, ze_event_handle_t signal, uint32_t wait_count,
                            ze_event_handle_t *waits) {
    check_append(list, wait_count, waits);
    need_handles(handle);
    need_pointers(memory);
    const Region region = make_region(*handle->image, wanted);
    const auto pitches = make_pitches(*handle->image, region, row, slice);
    if (is_empty(region))
        return append(list, std::make_shared<MarkerCommand>(), signal, wait_count, waits);
    auto command = std::make_shared<TransferImage>(handle->image, region, memory, to_memory, pitches);
    return append(list, command, signal, wait_count, waits);
}

} // namespace

ze_result_t zeCommandListAppendImageCopyRegion(ze_command_list_handle_t hCommandList,
                                               ze_image_handle_t hDstImage, ze_image_handle_t hSrcImage,
                                               const ze_image_region_t *pDstRegion,
                                               const ze_image_region_t *pSrcRegion,
                                               ze_event_handle_t hSignalEvent, uint32_t numWaitEvents,
                                               ze_event_handle_t *phWaitEvents) {
    check_append(hCommandList, numWaitEvents, phWaitEvents);
    need_handles(hDstImage, hSrcImage);
    const Image &to = *hDstImage->image, &from = *hSrcImage->image;
    const Region to_region = make_region(to, pDstRegion), from_region = make_region(from, pSrcRegion);
    if (to_region.size != from_region.size || to.format().opencl != from.format().opencl)
        return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    if (&to == &from && overlap(to_region, from_region))
        return ZE_RESULT_ERROR_OVERLAPPING_REGIONS;
    if (is_empty(to_region))
        return append(hCommandList, std::make_shared<MarkerCommand>(), hSignalEvent, numWaitEvents,
                      phWaitEvents);
    auto command = std::make_shared<CopyImage>(hDstImage->image, to_region, hSrcImage->image, from_region);
    return append(hCommandList, command, hSignalEvent, numWaitEvents, phWaitEvents);
}

ze_result_t zeCommandListAppendImageCopy(ze_command_list_handle_t hCommandList, ze_image_handle_t hDstImage,
                                         ze_image_handle_t hSrcImage, ze_event_handle_t hSignalEvent,
                                         uint32_t numWaitEvents, ze_event_handle_t *phWaitEvents) {
    return ze_cpu::zeCommandListAppendImageCopyRegion(hCommandList, hDstImage, hSrcImage, nullptr, nullptr,
                                                      hSignalEvent, numWaitEvents, phWaitEvents);
}

ze_result_t zeCommandListAppendImageCopyToMemory(ze_command_list_handle_t hCommandList, void *dstptr,
                                                 ze_image_handle_t hSrcImage,
                                                 const ze_image_region_t *pSrcRegion,
                                                 ze_event_handle_t hSignalEvent, uint32_t numWaitEvents,
                                                 ze_event_handle_t *phWaitEvents) {
    return append_transfer(hCommandList, hSrcImage, pSrcRegion, dstptr, true, 0, 0, hSignalEvent,
                           numWaitEvents, phWaitEvents);
}

ze_result_t zeCommandListAppendImageCopyFromMemory(ze_command_list_handle_t hCommandList,
                                                   ze_image_handle_t hDstImage, const void *srcptr,
                                                   const ze_image_region_t *pDstRegion,
                                                   ze_event_handle_t hSignalEvent, uint32_t numWaitEvents,
                                                   ze_event_handle_t *phWaitEvents) {
    return append_transfer(hCommandList, hDstImage, pDstRegion, const_cast<void *>(srcptr), false, 0, 0,
                           hSignalEvent, numWaitEvents, phWaitEvents);
}

ze_result_t zeCommandListAppendImageCopyToMemoryExt(ze_command_list_handle_t hCommandList, void *dstptr,
                                                    ze_image_handle_t hSrcImage,
                                                    const ze_image_region_t *pSrcRegion,
                                                    uint32_t destRowPitch, uint32_t destSlicePitch,
                                                    ze_event_handle_t hSignalEvent, uint32_t numWaitEvents,
                                                    ze_event_handle_t *phWaitEvents) {
    return append_transfer(hCommandList, hSrcImage, pSrcRegion, dstptr, true, destRowPitch, destSlicePitch,
                           hSignalEvent, numWaitEvents, phWaitEvents);
}

ze_result_t zeCommandListAppendImageCopyFromMemoryExt(ze_command_list_handle_t hCommandList,
                                                      ze_image_handle_t hDstImage, const void *srcptr,
                                                      const ze_image_region_t *pDstRegion,
                                                      uint32_t srcRowPitch, uint32_t srcSlicePitch,
                                                      ze_event_handle_t hSignalEvent, uint32_t numWaitEvents,
                                                      ze_event_handle_t *phWaitEvents) {
    return append_transfer(hCommandList, hDstImage, pDstRegion, const_cast<void *>(srcptr), false,
                           srcRowPitch, srcSlicePitch, hSignalEvent, numWaitEvents, phWaitEvents);
}

} // namespace ze_cpu
