// SPDX-License-Identifier: Apache-2.0
// A pool of Level Zero events, which are created in chunks and reused.
#pragma once

#include <memory>
#include <vector>

#include "ze/device.hpp"

namespace zemm::ze {

class event_pool {
public:
    // timestamps: events keep kernel timestamps. chunk: how many events are created at a time.
    event_pool(const device &dev, bool timestamps, uint32_t chunk);

    // Returns an event that is not signalled and that the host can wait for.
    ze_event_handle_t take();
    // Resets the event for reuse. No submitted work may signal it any more.
    void give_back(ze_event_handle_t event);

private:
    void grow(); // adds one chunk; if that fails, it throws and nothing has changed

    const device &device_;
    const bool timestamps_;
    const uint32_t chunk_;
    std::vector<owned_event_pool> pools_;
    std::vector<owned_event> all_; // destroyed before their pools
    std::vector<ze_event_handle_t> free_;
};

} // namespace zemm::ze
