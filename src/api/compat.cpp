// SPDX-License-Identifier: Apache-2.0
// Entry points that only libdnnl.so.3 calls.
#include "api/compat.hpp"

#include "common/env.hpp"
#include "common/guard.hpp"
#include "common/names.hpp"
#include "common/verbose.hpp"
#include "primitive/primitive_cache.hpp"

using namespace zemm;

void zemm_compat_speak_as_onednn(void) {
    guard([] {
        read_onednn_variables();
        verbose::speak_as_onednn();
    });
}

zemm_status_t zemm_compat_refuse(zemm_status_t status, const char *sentence) {
    return guard([&] {
        // What zemm lacks ends many programs, with an exception that has no sentence.
        if (status == zemm_unimplemented)
            verbose::print_once(verbose::error, text("primitive,error,%s,%s", status_name(status), sentence));
        fail(status, "%s", sentence);
    });
}

zemm_status_t zemm_compat_guard(zemm_status_t (*body)(void *), void *context) {
    zemm_status_t of_body = zemm_success;
    const zemm_status_t status = guard([&] { of_body = body(context); });
    return status == zemm_success ? of_body : status;
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
    int count = 0;
    guard([&] { count = int(count_cached()); });
    return count;
}

zemm_status_t zemm_compat_replace_cache_capacity(int capacity, int *old_capacity) {
    return guard([&] { *old_capacity = replace_cache_capacity(capacity); });
}
