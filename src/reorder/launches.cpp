// SPDX-License-Identifier: Apache-2.0
#include "reorder/launches.hpp"

#include "common/error.hpp"
#include "primitive/launch_plan.hpp"
#include "primitive/sequence.hpp"
#include "reorder/plan.hpp"
#include "reorder/sparse.hpp"

namespace zemm::reorder {

launch reorder_launch(launch_plan plan, const operand &from, const operand &to, const problem &p) {
    values_of<kernels::reorder_arguments> values;
    auto &v = values.fixed;
    constexpr int scale = ZEMM_ARG_ATTR_SCALES, zero_point = ZEMM_ARG_ATTR_ZERO_POINTS;
    constexpr int src = ZEMM_ARG_SRC, dst = ZEMM_ARG_DST;
    values.set(p.scale(src), scale | src, v.src_scale, v.host_src_scale);
    values.set(p.scale(dst), scale | dst, v.dst_scale, v.host_dst_scale);
    values.set(p.zero_point(src), zero_point | src, v.src_zp, v.host_src_zp);
    values.set(p.zero_point(dst), zero_point | dst, v.dst_zp, v.host_dst_zp);
    if (p.reductions())
        values.set(v.reductions, address_of(ZEMM_ARG_ATTR_PRECOMPUTED_REDUCTIONS | dst));
    if (p.rounds_at_random())
        values.set(v.rounding_seed, address_of(ZEMM_ARG_ATTR_ROUNDING_SEED));
    return {.plan = std::move(plan),
            .operands = {from, to, block_address, first_values},
            .values = {values.made()}};
}

launch densify_launch(const memory_desc &md, int arg, const operand &to) {
    return {.plan = plan_densify(md),
            .operands = {address_of(arg), address_of(arg, pointers_part(md)),
                         address_of(arg, indices_part(md)), to, block_address}};
}

launch sparsify_launch(const memory_desc &md, bool counts, const operand &from, int arg,
                       const operand &starts) {
    return {.plan = plan_sparsify(md, counts),
            .operands = {from, address_of(arg), address_of(arg, pointers_part(md)),
                         address_of(arg, indices_part(md)), starts, block_address}};
}

launch copy_launch(const memory_desc &from, const memory_desc &to, const operand &source,
                   const operand &destination, const ze::device &dev) {
    problem p;
    p.src = from;
    p.dst = to;
    launch_plan plan;
    std::string why;
    if (!plan_any(p, dev, plan, why))
        fail(zemm_unimplemented, "%s cannot be copied to %s: %s", md_sentence(from).c_str(),
             md_sentence(to).c_str(), why.c_str());
    launch made = reorder_launch(std::move(plan), source, destination, p);
    if (dev.kind == zemm_gpu)
        made.flags = gpu_build_flags(is_large(from) || is_large(to));
    return made;
}

} // namespace zemm::reorder
