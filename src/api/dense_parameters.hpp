// SPDX-License-Identifier: Apache-2.0
// Kernels read scales, zero points and reductions as dense tensors. A memory with the dimensions of such
// a parameter may have other strides: it is then copied to a dense one, on the stream of the execution.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "primitive/primitive_desc.hpp"

namespace zemm {

class dense_parameters {
public:
    // Submits the copies after the events in waits.
    dense_parameters(const zemm_primitive &primitive, zemm_stream &stream,
                     std::span<const zemm_exec_arg_t> args, std::span<const ze_event_handle_t> waits);

    // The arguments, with dense memories. They must outlive the call of execute() only.
    std::span<const zemm_exec_arg_t> args() const { return copies_.empty() ? passed_ : replaced_; }

private:
    const std::span<const zemm_exec_arg_t> passed_;
    std::vector<zemm_exec_arg_t> replaced_;
    std::vector<std::unique_ptr<zemm_memory>> copies_;
};

} // namespace zemm
