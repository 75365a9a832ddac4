// SPDX-License-Identifier: Apache-2.0
// Entry points that only libdnnl.so.3 calls.
#include "api/compat.hpp"

#include "common/env.hpp"
#include "common/error.hpp"
#include "common/verbose.hpp"
#include "primitive/cache_capacity.hpp"
#include "primitive/compiled.hpp"

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

int zemm_compat_is_cached(const_zemm_primitive_desc_t pd) {
    bool found = false;
    guard([&] {
        require(pd, "primitive_desc");
        found = is_compiled(*pd);
    });
    return found;
}

int zemm_compat_count_cached(void) {
    return int(count_cached());
}

zemm_status_t zemm_compat_replace_cache_capacity(int capacity, int *old_capacity) {
    return guard([&] { *old_capacity = replace_cache_capacity(capacity); });
}
