// SPDX-License-Identifier: Apache-2.0
// The list of implementations of the reorder, and the choice among them.
#include "reorder/plan.hpp"

#include <algorithm>

#include "common/env.hpp"
#include "common/md_check.hpp"
#include "primitive/refusals.hpp"

namespace zemm::reorder {

namespace {

// The kernels read these structs, so their layout must be the one that OpenCL C gives them.
static_assert(sizeof(kernels::reorder_loop) == 8 * 5);
static_assert(sizeof(kernels::reorder_parameter) == 8 * 14 + 8);
static_assert(sizeof(kernels::reorder_tensor) == 8 * 50);
static_assert(sizeof(kernels::reorder_problem) == 8 + 8 * 24 + 24 * 40 + 8 * 5 +
                                                      sizeof(kernels::reorder_tensor) + 8 * 2 +
                                                      4 * sizeof(kernels::reorder_parameter));
static_assert(sizeof(kernels::pack_problem) == 8 * 10 + 8 + 8 * 36);
static_assert(sizeof(kernels::quantize_problem) == 8 * 14 + 8 + 8 * 36);
static_assert(sizeof(kernels::group_problem) == 8 + 8 * 48 + 2 * sizeof(kernels::reorder_tensor) + 8 * 3);
static_assert(sizeof(kernels::reorder_arguments) == 8 * 6 + 16);

const implementation implementations[] = {
    {"quantize", zemm_any_engine, plan_quantize}, {"quantize_floats", zemm_any_engine, plan_quantize_floats},
    {"reorder_pack", zemm_cpu, plan_pack},        {"reorder_pack_lanes", zemm_gpu, plan_pack_lanes},
    {"reorder", zemm_any_engine, plan_any},       {"reorder_f64", zemm_any_engine, plan_f64},
};

// Whether the implementation is for the device. On the CPU device ZEMM_KERNEL may also force those
// for GPUs, so that they can be tested without a GPU.
bool is_for(const implementation &i, const ze::device &dev, bool is_forced, std::string &why) {
    if (i.device == zemm_any_engine || i.device == dev.kind || (is_forced && dev.kind == zemm_cpu))
        return true;
    why = i.device == zemm_cpu ? "it is for CPUs: its transposes do not fit into the registers of a GPU"
                               : "it is for GPUs; on the CPU device only ZEMM_KERNEL takes it";
    return false;
}

} // namespace

std::vector<std::pair<const implementation *, launch_plan>> candidates(const problem &p,
                                                                       const ze::device &dev) {
    // ZEMM_KERNEL may name a kernel of another primitive, which has no effect here.
    const std::string forced = env("ZEMM_KERNEL");
    const bool is_forced =
        std::ranges::any_of(implementations, [&](const implementation &i) { return forced == i.name; });
    std::vector<std::pair<const implementation *, launch_plan>> result;
    refusals refused("reorder", [&p] { return dims_text(p.src); });
    for (const implementation &i : implementations) {
        std::string why = "ZEMM_KERNEL asks for another kernel";
        launch_plan made;
        if ((!is_forced || forced == i.name) && is_for(i, dev, is_forced, why) &&
            i.make_plan(p, dev, made, why)) {
            result.emplace_back(&i, std::move(made));
            continue;
        }
        refused.add(i.name, std::move(why));
    }
    if (result.empty())
        refused.fail();
    return result;
}

kernels::reorder_tensor tensor_of(const memory_desc &md) {
    kernels::reorder_tensor t = {};
    const blocks b = md_blocks(md);
    t.offset = md.offset0;
    std::copy(md.strides, md.strides + md.ndims, t.strides);
    std::copy(b.of, b.of + md.ndims, t.blocks);
    std::copy(md.inner_blks, md.inner_blks + md.inner_nblks, t.inner_blks);
    std::copy(md.inner_idxs, md.inner_idxs + md.inner_nblks, t.inner_idxs);
    t.inner_nblks = md.inner_nblks;
    return t;
}

} // namespace zemm::reorder
