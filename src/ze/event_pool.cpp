// SPDX-License-Identifier: Apache-2.0
// Creation and reuse of events.
#include "ze/event_pool.hpp"

namespace zemm::ze {

event_pool::event_pool(const device &dev, bool timestamps, uint32_t chunk)
    : device_(dev), timestamps_(timestamps), chunk_(chunk) {}

void event_pool::grow() {
    auto pool_desc = structure<ze_event_pool_desc_t>(ZE_STRUCTURE_TYPE_EVENT_POOL_DESC);
    pool_desc.flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE;
    if (timestamps_)
        pool_desc.flags |= ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP;
    pool_desc.count = chunk_;
    const api &fn = device_.fn;
    ze_device_handle_t handle = device_.handle;
    ze_event_pool_handle_t created = nullptr;
    check(fn.zeEventPoolCreate(device_.context, &pool_desc, 1, &handle, &created), "zeEventPoolCreate");
    owned_event_pool pool(fn, created);
    std::vector<owned_event> events;
    events.reserve(chunk_);
    for (uint32_t i = 0; i < chunk_; i++) {
        auto desc = structure<ze_event_desc_t>(ZE_STRUCTURE_TYPE_EVENT_DESC);
        desc.index = i;
        desc.signal = ZE_EVENT_SCOPE_FLAG_HOST;
        desc.wait = ZE_EVENT_SCOPE_FLAG_HOST;
        ze_event_handle_t event = nullptr;
        check(fn.zeEventCreate(pool.get(), &desc, &event), "zeEventCreate");
        events.emplace_back(fn, event);
    }
    pools_.reserve(pools_.size() + 1);
    all_.reserve(all_.size() + chunk_);
    free_.reserve(all_.size() + chunk_);
    // From here on nothing throws.
    pools_.push_back(std::move(pool));
    for (owned_event &event : events) {
        free_.push_back(event.get());
        all_.push_back(std::move(event));
    }
}

ze_event_handle_t event_pool::take() {
    if (free_.empty())
        grow();
    const ze_event_handle_t event = free_.back();
    free_.pop_back();
    return event;
}

void event_pool::give_back(ze_event_handle_t event) {
    check(device_.fn.zeEventHostReset(event), "zeEventHostReset");
    free_.push_back(event);
}

} // namespace zemm::ze
