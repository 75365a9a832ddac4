// SPDX-License-Identifier: Apache-2.0
#include "matmul/dispatch.hpp"

#include "common/env.hpp"
#include "common/error.hpp"
#include "common/verbose.hpp"

namespace zemm::matmul {

namespace {

// ---- predicates, named in kernels.def

bool on_any(const problem &, const ze::device &, std::string &) {
    return true;
}

bool on_cpu(const problem &, const ze::device &dev, std::string &why) {
    if (dev.kind == zemm_cpu)
        return true;
    why = "its tile is made for the caches of a CPU";
    return false;
}

const kernel_row rows[] = {
#define ZEMM_MATMUL(src, wei, dst, tile_m, tile_n, tile_k, policy, rows, lanes, group_x, supports)           \
    {"matmul_" #src "_" #wei "_" #dst "_" #tile_m "x" #tile_n "x" #tile_k "_" #policy, tile_m, tile_n,       \
     group_x, supports},
#define ZEMM_HELPER(name)
#include "kernels/kernels.def"
#undef ZEMM_MATMUL
#undef ZEMM_HELPER
};

} // namespace

std::vector<const kernel_row *> candidates(const problem &p, const ze::device &dev) {
    const std::string forced = env("ZEMM_KERNEL");
    std::vector<const kernel_row *> result;
    std::string reasons;
    for (const kernel_row &row : rows) {
        std::string why;
        if (!forced.empty() && forced != row.name)
            why = "ZEMM_KERNEL asks for another kernel";
        else if (row.supports(p, dev, why)) {
            result.push_back(&row);
            continue;
        }
        if (verbose::enabled(verbose::dispatch))
            verbose::print(text("primitive,create:dispatch,matmul,%s,%s,%s", row.name, why.c_str(),
                                dims_line(p).c_str()));
        reasons += text("; %s: %s", row.name, why.c_str());
    }
    if (result.empty())
        fail(zemm_unimplemented, "no kernel takes the matmul %s%s", dims_line(p).c_str(), reasons.c_str());
    return result;
}

} // namespace zemm::matmul
