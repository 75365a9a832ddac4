// SPDX-License-Identifier: Apache-2.0
//
// Sentences that explain why a call was refused.
#pragma once

#include <string>

#include <level_zero/ze_api.h>

namespace ze_cpu {

/// Returns `result`, and keeps a sentence that explains it for zeDriverGetLastErrorDescription in
/// the same thread.
ze_result_t refuse(ze_result_t result, const std::string &why);

/// The last sentence of this thread; "" if there was none.
const char *last_refusal();

} // namespace ze_cpu
