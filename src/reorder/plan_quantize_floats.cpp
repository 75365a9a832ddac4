// SPDX-License-Identifier: Apache-2.0
// Plans quantize_floats.cl, the kernel of dynamic quantisation to f8 and f4.
#include <algorithm>
#include <cmath>

#include "common/attr.hpp"
#include "primitive/launch_plan.hpp"
#include "reorder/plan.hpp"

namespace zemm::reorder {

namespace {

// Whether the elements of each group are next to each other, from a whole byte on.
bool lies_in_rows(const memory_desc &md, int along) {
    if (!md_is_plain(md) || md.strides[along] != 1)
        return false;
    return md_rows_begin_at(md, along, span_of(md.data_type));
}

} // namespace

bool plan_quantize_floats(const problem &p, const ze::device &dev, launch_plan &result, std::string &why) {
    if (!p.is_dynamic() || !is_small_float(p.dst.data_type))
        return refused(why, "it computes the scales of an f8 or f4 dst");
    const quant_entry &scale = *p.scale(ZEMM_ARG_DST);
    const int along = group_dim(p);
    const zemm_dim_t group = group_size(scale, p.dst.ndims, along);
    uint32_t flags = 0;
    const auto set = [&](bool condition, uint32_t flag) { flags |= condition ? flag : 0; };
    set(scale.mode == zemm_quantization_mode_dynamic_mx, QUANTIZE_MX);
    set(!md_is_plain(p.src), REORDER_SRC_BLOCKED);
    set(!md_is_plain(p.dst), QUANTIZE_DST_BLOCKED);
    set(lies_in_rows(p.src, along), QUANTIZE_SRC_ROWS);
    const bool in_rows = lies_in_rows(p.dst, along);
    set(in_rows, QUANTIZE_DST_ROWS);
    const bool is_whole = p.dst.dims[along] % group == 0;
    set(!(in_rows && is_whole) && span_of(p.dst.data_type) > 1, QUANTIZE_SHARED_BYTES);
    result.kernel = "quantize_floats";
    result.constants = {{REORDER_SPEC_SRC_DT, uint32_t(p.src.data_type)},
                        {REORDER_SPEC_DST_DT, uint32_t(p.dst.data_type)},
                        {REORDER_SPEC_FLAGS, flags},
                        {REORDER_SPEC_VECTORS, uint32_t(group / 16)}};
    kernels::group_problem block = {};
    block.ndims = p.dst.ndims;
    block.along = along;
    const memory_desc scales = md_of_quant(p.dst, scale);
    block.groups = 1;
    for (int d = 0; d < p.dst.ndims; ++d) {
        block.dims[d] = p.dst.dims[d];
        block.padded_dims[d] = p.dst.padded_dims[d];
        block.counts[d] = (p.dst.padded_dims[d] + (d == along ? group - 1 : 0)) / (d == along ? group : 1);
        block.scale_strides[d] = scales.strides[d];
        block.groups *= block.counts[d];
    }
    block.src = tensor_of(p.src);
    block.dst = tensor_of(p.dst);
    const float_facts facts = float_facts_of(p.dst.data_type);
    block.most = facts.largest;
    block.most_exponent = std::ilogb(facts.largest) + 127;
    // The number of elements that makes a work-item worth its launch.
    const zemm_dim_t worth = dev.kind == zemm_cpu ? 8192 : 1;
    block.groups_per_item = std::max<zemm_dim_t>(1, worth / group);
    result.block = to_bytes(block);
    if (!p.empty())
        result.group_count = {work_groups(block.groups, block.groups_per_item, "the reorder"), 1, 1};
    return true;
}

} // namespace zemm::reorder
