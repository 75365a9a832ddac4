// SPDX-License-Identifier: Apache-2.0
// An event that work waits for. The work does not begin before the test signals the event.
#pragma once

#include <cstdlib>

#include <dlfcn.h>
#include <level_zero/ze_ddi.h>

#include "check.h"
#include "ze/device.hpp"

class gate {
public:
    explicit gate(const zemm::ze::device &dev) : dev_(dev) {
        ze_event_pool_desc_t pool_desc = {};
        pool_desc.stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC;
        pool_desc.flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE;
        pool_desc.count = 1;
        CHECK(dev.fn.zeEventPoolCreate(dev.context, &pool_desc, 0, nullptr, &pool_) == ZE_RESULT_SUCCESS);
        ze_event_desc_t desc = {};
        desc.stype = ZE_STRUCTURE_TYPE_EVENT_DESC;
        CHECK(dev.fn.zeEventCreate(pool_, &desc, &event_) == ZE_RESULT_SUCCESS);
    }
    ~gate() {
        dev_.fn.zeEventDestroy(event_);
        dev_.fn.zeEventPoolDestroy(pool_);
    }
    gate(const gate &) = delete;
    gate &operator=(const gate &) = delete;

    const ze_event_handle_t *event() const { return &event_; }

    // Calls the driver directly, because zemm has no function that signals an event.
    void open() const {
        void *driver = dlopen(std::getenv("ZEMM_CPU_DRIVER"), RTLD_NOW | RTLD_LOCAL);
        using getter = ze_result_t (*)(ze_api_version_t, ze_event_dditable_t *);
        const auto get =
            driver ? reinterpret_cast<getter>(dlsym(driver, "zeGetEventProcAddrTable")) : nullptr;
        ze_event_dditable_t calls = {};
        CHECK(get && get(ZE_API_VERSION_1_3, &calls) == ZE_RESULT_SUCCESS);
        CHECK(calls.pfnHostSignal(event_) == ZE_RESULT_SUCCESS);
    }

private:
    const zemm::ze::device &dev_;
    ze_event_pool_handle_t pool_ = nullptr;
    ze_event_handle_t event_ = nullptr;
};
