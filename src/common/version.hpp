// SPDX-License-Identifier: Apache-2.0
// The version of the library, and the runtimes that it was built for.
#pragma once

#include "zemm/zemm_types.h"

namespace zemm {

inline const zemm_version_t &version() {
    // CPU and GPU engines both compute through Level Zero.
    static const zemm_version_t value = {0, 1, 0, "N/A", ZEMM_RUNTIME_ZE, ZEMM_RUNTIME_ZE};
    return value;
}

} // namespace zemm
