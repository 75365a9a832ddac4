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
    ~event_pool();
    event_pool(const event_pool &) = delete;
    event_pool &operator=(const event_pool &) = delete;

    // An event that is not signalled and that the host can wait for.
    ze_event_handle_t take();
    // Nothing on the device may signal it any more.
    void give_back(ze_event_handle_t event);

private:
    void grow();

    const device &device_;
    const bool timestamps_;
    const uint32_t chunk_;
    std::vector<ze_event_pool_handle_t> pools_;
    std::vector<ze_event_handle_t> all_, free_;
};

} // namespace zemm::ze
