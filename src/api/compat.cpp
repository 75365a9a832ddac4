// SPDX-License-Identifier: Apache-2.0
// Entry points that only libdnnl.so.3 calls.
#include "api/compat.hpp"

#include "common/env.hpp"
#include "common/error.hpp"
#include "common/verbose.hpp"

using namespace zemm;

void zemm_compat_speak_as_onednn(void) {
    read_onednn_variables();
    verbose::speak_as_onednn();
}

zemm_status_t zemm_compat_refuse(zemm_status_t status, const char *sentence) {
    return guard([&] { fail(status, "%s", sentence); });
}

int zemm_compat_logs_executions(void) {
    return verbose::enabled(verbose::profile_exec);
}
