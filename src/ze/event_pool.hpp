// SPDX-License-Identifier: Apache-2.0
// Events of one context, created in chunks and used again.
#pragma once

#include <memory>
#include <vector>

#include "ze/device.hpp"

namespace zemm::ze {

class event_pool {
public:
    event_pool(const device &dev, bool timestamps, uint32_t chunk);

    // An event that is not signalled and that the host can wait for.
    ze_event_handle_t take();
    // Nothing on the device may signal it any more.
    void give_back(ze_event_handle_t event);

private:
    void grow(); // by one chunk or, when that fails, not at all

    const device &device_;
    const bool timestamps_;
    const uint32_t chunk_;
    std::vector<owned_event_pool> pools_;
    std::vector<owned_event> all_; // destroyed before their pools
    std::vector<ze_event_handle_t> free_;
};

} // namespace zemm::ze
