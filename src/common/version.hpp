// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "zemm/zemm_types.h"

namespace zemm {

const zemm_version_t &version();

} // namespace zemm
