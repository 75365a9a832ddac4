// SPDX-License-Identifier: Apache-2.0
// The version of the library, and the runtimes that it was built for.
#pragma once

#include "zemm/zemm_types.h"

namespace zemm {

const zemm_version_t &version();

} // namespace zemm
