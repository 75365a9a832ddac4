// SPDX-License-Identifier: Apache-2.0
// Plans quantize.cl, the kernel of dynamic quantisation.
#include <algorithm>

#include "common/attr.hpp"
#include "kernels/args/quantize_args.h"
#include "primitive/launch_plan.hpp"
#include "reorder/plan.hpp"

namespace zemm::reorder {

uint32_t vectors_of_group(zemm_dim_t group, zemm_dim_t reduction) {
    const bool in_vectors = group % 16 == 0 && group <= 16 * QUANTIZE_MAX_VECTORS && reduction % group == 0;
    return in_vectors ? uint32_t(group / 16) : 0;
}

void end_with_row(zemm_dim_t k, zemm_dim_t &group, zemm_dim_t &reduction) {
    if (group == k)
        group = groups_along(k, reduction) * reduction;
    else if (reduction == k)
        reduction = groups_along(k, group) * group;
}

std::vector<ze::spec_constant> quantize_constants(zemm_data_type_t src, uint32_t flags,
                                                  zemm_data_type_t scale, zemm_dim_t group,
                                                  zemm_dim_t reduction) {
    return {{REORDER_SPEC_SRC_DT, uint32_t(src)},
            {REORDER_SPEC_FLAGS, flags},
            {REORDER_SPEC_SCALE_DT, uint32_t(scale)},
            {REORDER_SPEC_VECTORS, vectors_of_group(group, reduction)}};
}

bool plan_quantize(const problem &p, const ze::device &dev, launch_plan &result, std::string &why) {
    if (!p.is_dynamic() || !is_int8(p.dst.data_type))
        return refused(why, "it computes the scales of an s8 or u8 dst");
    const int last = p.dst.ndims - 1;
    const quant_entry &scale = *p.scale(ZEMM_ARG_DST);
    result.kernel = "quantize";
    const uint32_t flags = (p.reductions() ? QUANTIZE_REDUCTIONS : 0u) |
                           (p.dst.data_type == zemm_u8 ? QUANTIZE_ZERO_POINTS : 0u) |
                           (p.has_reduced_dst() ? QUANTIZE_REDUCED_RANGE : 0u);
    const auto of = [&](const quant_entry &entry) { return std::max<zemm_dim_t>(1, group_of(p, entry)); };
    const zemm_dim_t k = std::max<zemm_dim_t>(1, p.dst.dims[last]);
    zemm_dim_t group = of(scale), reduction = p.reductions() ? of(*p.reductions()) : group;
    end_with_row(k, group, reduction);
    result.constants = quantize_constants(p.src.data_type, flags, scale.data_type, group, reduction);
    kernels::quantize_problem block = {};
    block.src_offset = p.src.offset0;
    block.dst_offset = p.dst.offset0;
    // Merge neighbouring dimensions that are dense with each other both in src and in dst.
    for (int d = 0; d < last; ++d) {
        const int i = block.row_ndims - 1;
        const bool merge = i >= 0 && p.src.strides[d] * p.src.dims[d] == block.src_strides[i] &&
                           p.dst.strides[d] * p.dst.dims[d] == block.dst_strides[i];
        const int to = merge ? i : block.row_ndims++;
        block.row_dims[to] = (merge ? block.row_dims[to] : 1) * p.dst.dims[d];
        block.src_strides[to] = p.src.strides[d];
        block.dst_strides[to] = p.dst.strides[d];
    }
    if (!p.empty()) {
        const zemm_dim_t unit = std::max(group, reduction), part = std::min(group, reduction);
        block.group = group;
        block.unit = unit;
        block.part = part;
        block.groups_of_unit = unit / group;
        block.reductions_of_unit = unit / reduction;
        block.parts_of_reduction = reduction / part;
        block.row = k;
        block.groups_of_row = groups_along(k, group);
        block.reductions_of_row = groups_along(k, reduction);
        block.units_of_row = groups_along(k, unit);
        block.units = md_nelems(p.dst) / k * block.units_of_row;
        // On a CPU, work-items take some microseconds: long enough to be worth their launch, short
        // enough to occupy all cores.
        const zemm_dim_t worth = dev.kind == zemm_cpu ? 8192 : 1;
        block.units_per_item = std::max<zemm_dim_t>(1, worth / unit);
        result.group_count = {work_groups(block.units, block.units_per_item, "the reorder"), 1, 1};
        result.operations = md_nelems(p.dst) * 16; // each element is looked at twice, and divided
    }
    result.block = to_bytes(block);
    return true;
}

} // namespace zemm::reorder
