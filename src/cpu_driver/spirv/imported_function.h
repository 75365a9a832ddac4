// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace ze_cpu {

/// A function that the module calls but does not define, or that the OpenCL runtime calls for one
/// of the module's instructions (spirv_calls.h).
struct ImportedFunction {
    std::string name;
    /// The types of result and parameters: v (void), b (bool), i32, f32x8, p1 (a pointer, with its
    /// storage class), ? (anything else). For example "i32x8(i16x8,i32x8,i32x8)".
    std::string signature;
};

} // namespace ze_cpu
