// SPDX-License-Identifier: Apache-2.0
// Counts work-groups and chooses build flags.
#include "primitive/launch_plan.hpp"

#include <algorithm>

#include "common/error.hpp"

namespace zemm {

bool launch_plan::is_brief(zemm_dim_t operations, uint32_t compute_units) {
    constexpr zemm_dim_t few = 1 << 26; // of one: about a millisecond
    return operations / std::max<zemm_dim_t>(compute_units, 1) <= few;
}

zemm_dim_t checked_ceil_div(zemm_dim_t items, zemm_dim_t per_group, const char *what) {
    const zemm_dim_t count = (items + per_group - 1) / per_group;
    if (count > UINT32_MAX)
        fail(zemm_unimplemented, "%s needs %lld groups, a launch has at most 2^32 - 1", what,
             (long long)count);
    return count;
}

uint32_t work_groups(zemm_dim_t items, zemm_dim_t per_group, const char *what) {
    return uint32_t(checked_ceil_div(items, per_group, what));
}

bool is_large(const memory_desc &md) {
    return md_size(md) > UINT32_MAX;
}

const char *gpu_build_flags(bool has_large_tensors, bool has_large_register_file) {
    if (has_large_register_file)
        return has_large_tensors ? "-ze-opt-large-register-file -ze-opt-greater-than-4GB-buffer-required"
                                 : "-ze-opt-large-register-file";
    return has_large_tensors ? "-ze-opt-greater-than-4GB-buffer-required" : "";
}

} // namespace zemm
