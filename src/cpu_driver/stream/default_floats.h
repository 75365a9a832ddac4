// SPDX-License-Identifier: Apache-2.0
//
// The floating-point environment of kernels.
#pragma once

#include <cfenv>

namespace ze_cpu {

/// Gives kernels that run on this thread the rounding and the denormals that they have on the runtime's
/// threads.
class DefaultFloats {
public:
    DefaultFloats() {
        std::fegetenv(&before_);
        std::fesetenv(FE_DFL_ENV);
    }
    ~DefaultFloats() { std::fesetenv(&before_); }
    DefaultFloats(const DefaultFloats &) = delete;
    DefaultFloats &operator=(const DefaultFloats &) = delete;

private:
    std::fenv_t before_;
};

} // namespace ze_cpu
