// SPDX-License-Identifier: Apache-2.0
#include "matmul/plan/plan_text.hpp"

#include "common/error.hpp"
#include "common/verbose.hpp"

namespace zemm::matmul {

namespace {

// " name:id=value;id=value" of a kernel that the plan launches.
std::string launch_text(const char *name, const std::vector<ze::spec_constant> &constants) {
    std::string words = text(" %s:", name);
    for (const ze::spec_constant &c : constants)
        words += text("%s%u=%u", &c == &constants.front() ? "" : ";", c.id, c.value);
    return words;
}

// The launches with their constants, then how the problem is cut.
std::string plan_text(const plan &made) {
    std::string words = text("flags:%u%s", made.flags, made.launches->empty() ? " matmul:" : "");
    for (const launch &l : made.launches->launches()) {
        const bool is_main = &l == &made.launches->launches().front();
        const bool is_of_row = l.plan.kernel == made.row->name;
        words += launch_text(is_main ? "matmul" : is_of_row ? "finish" : l.plan.kernel, l.plan.constants);
    }
    const kernels::matmul_problem &b = *made.argument_block;
    const auto &g = made.group_count;
    return words + text(" grouping:%d segment:%lld rows:%lld tile_rows:%d finish_rows:%d abreast:%d strip:%d "
                        "slices:%d k_range:%lld groups:%ux%ux%u",
                        b.grouping, (long long)b.segment, (long long)b.rows, b.tile_rows, b.finish_rows,
                        b.abreast, b.strip, b.slices, (long long)b.k_range, g[0], g[1], g[2]);
}

} // namespace

void log_plan(const char *event, const problem &p, const plan &made) {
    if (verbose::enabled(verbose::plan))
        verbose::print(text("primitive,%s:plan,matmul,%s,%s,%s", event, made.row->name,
                            plan_text(made).c_str(), dims_line(p).c_str()));
}

} // namespace zemm::matmul
