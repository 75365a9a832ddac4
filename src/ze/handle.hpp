// SPDX-License-Identifier: Apache-2.0
// Owners of Level Zero handles. Construct the owner directly after the call that created the
// handle, so that the handle is destroyed exactly once even if later code throws.
#pragma once

#include <utility>

#include "ze/api.hpp"

namespace zemm::ze {

template <typename Handle, auto Destroy> class owned {
public:
    owned() = default;
    owned(const api &fn, Handle handle) : fn_(&fn), handle_(handle) {}
    owned(owned &&other) noexcept : fn_(other.fn_), handle_(other.release()) {}
    owned &operator=(owned &&other) noexcept {
        std::swap(fn_, other.fn_);
        std::swap(handle_, other.handle_);
        return *this;
    }
    ~owned() {
        if (handle_)
            (fn_->*Destroy)(handle_);
    }

    Handle get() const { return handle_; }
    explicit operator bool() const { return handle_; }
    Handle release() { return std::exchange(handle_, nullptr); }

private:
    const api *fn_ = nullptr;
    Handle handle_ = nullptr;
};

using owned_context = owned<ze_context_handle_t, &api::zeContextDestroy>;
using owned_module = owned<ze_module_handle_t, &api::zeModuleDestroy>;
using owned_build_log = owned<ze_module_build_log_handle_t, &api::zeModuleBuildLogDestroy>;
using owned_kernel = owned<ze_kernel_handle_t, &api::zeKernelDestroy>;
using owned_list = owned<ze_command_list_handle_t, &api::zeCommandListDestroy>;
using owned_event_pool = owned<ze_event_pool_handle_t, &api::zeEventPoolDestroy>;
using owned_event = owned<ze_event_handle_t, &api::zeEventDestroy>;

} // namespace zemm::ze
