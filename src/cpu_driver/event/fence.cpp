// SPDX-License-Identifier: Apache-2.0
#include "event.h"

#include "border/border.h"
#include "border/entry_points.h"

namespace ze_cpu {

ze_result_t zeFenceCreate(ze_command_queue_handle_t hCommandQueue, const ze_fence_desc_t *desc,
                          ze_fence_handle_t *phFence) {
    need_handles(hCommandQueue);
    need_pointers(desc, phFence);
    if (desc->flags & ~uint32_t(ZE_FENCE_FLAG_SIGNALED))
        return ZE_RESULT_ERROR_INVALID_ENUMERATION;
    auto fence = std::make_unique<_ze_fence_handle_t>();
    fence->signal = std::make_shared<Signal>();
    if (desc->flags & ZE_FENCE_FLAG_SIGNALED)
        fence->signal->set_by_host();
    *phFence = fence.release();
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeFenceDestroy(ze_fence_handle_t hFence) {
    return destroy(hFence);
}

ze_result_t zeFenceHostSynchronize(ze_fence_handle_t hFence, uint64_t timeout) {
    need_handles(hFence);
    const SignalPtr signal = hFence->signal; // another thread may destroy the fence meanwhile
    return signal->wait(Deadline(timeout));
}

ze_result_t zeFenceQueryStatus(ze_fence_handle_t hFence) {
    need_handles(hFence);
    return hFence->signal->status();
}

ze_result_t zeFenceReset(ze_fence_handle_t hFence) {
    need_handles(hFence);
    hFence->signal->reset();
    return ZE_RESULT_SUCCESS;
}

} // namespace ze_cpu
