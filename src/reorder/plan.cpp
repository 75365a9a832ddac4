// SPDX-License-Identifier: Apache-2.0
#include "reorder/plan.hpp"

#include <algorithm>

#include "common/env.hpp"
#include "common/error.hpp"
#include "common/verbose.hpp"

namespace zemm::reorder {

namespace {

const implementation implementations[] = {
    {"quantize", plan_quantize},
    {"reorder_pack", plan_pack},
    {"reorder", plan_any},
};

} // namespace

std::vector<std::pair<const implementation *, plan>> candidates(const problem &p, const ze::device &dev) {
    // ZEMM_KERNEL may name a kernel of another primitive: that forces nothing here.
    const std::string forced = env("ZEMM_KERNEL");
    const bool is_forced =
        std::ranges::any_of(implementations, [&](const implementation &i) { return forced == i.name; });
    std::vector<std::pair<const implementation *, plan>> result;
    std::string reasons;
    for (const implementation &i : implementations) {
        std::string why = "ZEMM_KERNEL asks for another kernel";
        plan made;
        if ((!is_forced || forced == i.name) && i.make_plan(p, dev, made, why)) {
            result.emplace_back(&i, std::move(made));
            continue;
        }
        if (verbose::enabled(verbose::dispatch))
            verbose::print(text("primitive,create:dispatch,reorder,%s,%s,%s", i.name, why.c_str(),
                                dims_text(p.src).c_str()));
        reasons += text("; %s: %s", i.name, why.c_str());
    }
    if (result.empty())
        fail(zemm_unimplemented, "no kernel takes the reorder %s%s", dims_text(p.src).c_str(),
             reasons.c_str());
    return result;
}

uint32_t group_count(zemm_dim_t items, zemm_dim_t per_group) {
    const zemm_dim_t count = (items + per_group - 1) / per_group;
    if (count > UINT32_MAX)
        fail(zemm_unimplemented, "the reorder needs %lld groups, a launch has at most 2^32 - 1",
             (long long)count);
    return uint32_t(count);
}

} // namespace zemm::reorder
