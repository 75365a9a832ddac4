// SPDX-License-Identifier: Apache-2.0
// Plans reorder.cl and reorder_f64.cl, which convert any layout to any other.
#include <algorithm>

#include "common/attr.hpp"
#include "common/error.hpp"
#include "primitive/launch_plan.hpp"
#include "reorder/plan.hpp"

namespace zemm::reorder {

namespace {

using kernels::reorder_loop;
using kernels::reorder_parameter;
using kernels::reorder_problem;

// The loops over dst's padded dimensions and inner blocks, innermost first, without those of a
// single step. If dst is a submemory that ends inside a block, the loops go past its end, and the
// kernel skips what is outside the padded dimensions.
std::vector<reorder_loop> loops_of(const problem &p) {
    const memory_desc &dst = p.dst;
    const bool src_plain = md_is_plain(p.src);
    std::vector<reorder_loop> loops;
    const auto add = [&](zemm_dim_t size, zemm_dim_t d, zemm_dim_t step, zemm_dim_t stride) {
        if (size > 1)
            loops.push_back({size, d, step, stride, src_plain ? step * p.src.strides[d] : 0});
    };
    zemm_dims_t step;
    std::fill(step, step + dst.ndims, 1);
    const auto left = [&](zemm_dim_t d) { return (dst.padded_dims[d] + step[d] - 1) / step[d]; };
    zemm_dim_t stride = 1;
    for (int i = dst.inner_nblks - 1; i >= 0; --i) {
        const zemm_dim_t d = dst.inner_idxs[i], size = dst.inner_blks[i];
        add(std::min(size, left(d)), d, step[d], stride);
        step[d] *= size;
        stride *= size;
    }
    for (int d = 0; d < dst.ndims; ++d)
        add(left(d), d, step[d], dst.strides[d]);
    std::ranges::stable_sort(loops, {}, &reorder_loop::dst_stride);
    if (loops.empty())
        loops.push_back({1, 0, 1, 1, 1});
    return loops;
}

reorder_parameter parameter(const memory_desc &tensor, const quant_entry *entry) {
    reorder_parameter t = {};
    t.row_group = t.column_group = 1;
    if (!entry)
        return t;
    const memory_desc md = md_of_quant(tensor, *entry);
    for (int d = 0; d < md.ndims; ++d)
        t.strides[d] = broadcast_stride(md, d);
    set_parameter(t, tensor, *entry);
    return t;
}

uint32_t flags_of(const problem &p) {
    uint32_t flags = 0;
    const auto set = [&](bool condition, uint32_t flag) { flags |= condition ? flag : 0; };
    set(p.is_copy(), REORDER_COPY);
    set(is_integer(p.src.data_type) && is_integer(p.dst.data_type) && p.attr.scales.empty() && !p.sum(),
        REORDER_INTEGER);
    set(!md_is_plain(p.src), REORDER_SRC_BLOCKED);
    set(p.scale(ZEMM_ARG_SRC), REORDER_SRC_SCALE);
    set(p.scale(ZEMM_ARG_DST), REORDER_DST_SCALE);
    set(p.zero_point(ZEMM_ARG_SRC), REORDER_SRC_ZP);
    set(p.zero_point(ZEMM_ARG_DST), REORDER_DST_ZP);
    set(p.sum(), REORDER_SUM);
    set(p.rounds_at_random(), REORDER_STOCHASTIC);
    set(saturates(p.attr, p.dst.data_type) && !p.is_copy(), REORDER_SATURATE);
    return flags;
}

bool make_plan(const problem &p, const ze::device &dev, const char *kernel, launch_plan &result,
               std::string &why) {
    if (p.is_dynamic())
        return refused(why, "it computes no scales");
    const std::vector<reorder_loop> loops = loops_of(p);
    const int bits = data_type_bits(p.dst.data_type), span = span_of(p.dst.data_type);
    const bool split = std::ranges::any_of(
        loops.begin() + 1, loops.end(), [span](zemm_dim_t s) { return s % span != 0; },
        &reorder_loop::dst_stride);
    if (split || p.dst.offset0 % span != 0)
        return refused(why, "the runs of dst must begin at whole bytes");
    result.kernel = kernel;
    result.constants = {{REORDER_SPEC_SRC_DT, uint32_t(p.src.data_type)},
                        {REORDER_SPEC_DST_DT, uint32_t(p.dst.data_type)},
                        {REORDER_SPEC_FLAGS, flags_of(p)},
                        {REORDER_SPEC_BITS, uint32_t(bits)}};
    reorder_problem block = {};
    block.ndims = p.dst.ndims;
    block.nloops = int(loops.size());
    std::copy(p.dst.dims, p.dst.dims + p.dst.ndims, block.dims);
    std::copy(p.dst.padded_dims, p.dst.padded_dims + p.dst.ndims, block.padded_dims);
    std::ranges::copy(loops, block.loops);
    block.piece = std::min<zemm_dim_t>(loops[0].size, 256);
    block.pieces = (loops[0].size + block.piece - 1) / block.piece;
    block.runs = block.pieces;
    for (size_t i = 1; i < loops.size(); ++i)
        block.runs *= loops[i].size;
    // The number of elements that makes a work-item worth its launch.
    const zemm_dim_t worth = dev.kind == zemm_cpu ? 4096 : 64;
    block.runs_per_item = std::max<zemm_dim_t>(1, worth / block.piece);
    block.dst_offset = p.dst.offset0;
    block.src = tensor_of(p.src);
    block.beta = p.sum() ? p.sum()->alpha : 0.f;
    if (p.rounds_at_random() || saturates(p.attr, p.dst.data_type)) {
        const float_facts facts = float_facts_of(p.dst.data_type);
        block.dropped = (1u << (24 - facts.digits)) - 1;
        block.most = facts.largest;
        block.smallest = facts.smallest_normal;
    }
    block.src_scale = parameter(p.src, p.scale(ZEMM_ARG_SRC));
    block.dst_scale = parameter(p.dst, p.scale(ZEMM_ARG_DST));
    block.src_zp = parameter(p.src, p.zero_point(ZEMM_ARG_SRC));
    block.dst_zp = parameter(p.dst, p.zero_point(ZEMM_ARG_DST));
    result.block = to_bytes(block);
    if (!p.empty())
        result.group_count = {work_groups(block.runs, block.runs_per_item, "the reorder"), 1, 1};
    return true;
}

bool converts_f64(const problem &p) {
    return !p.is_copy() && (p.src.data_type == zemm_f64 || p.dst.data_type == zemm_f64);
}

} // namespace

bool plan_any(const problem &p, const ze::device &dev, launch_plan &result, std::string &why) {
    if (converts_f64(p))
        return refused(why, "its arithmetic is in f32");
    return make_plan(p, dev, "reorder", result, why);
}

bool plan_f64(const problem &p, const ze::device &dev, launch_plan &result, std::string &why) {
    if (!converts_f64(p))
        return refused(why, "it converts from and to f64 only");
    if (!dev.has_f64)
        return refused(why, text("the device \"%s\" has no arithmetic in f64", dev.name.c_str()));
    return make_plan(p, dev, "reorder_f64", result, why);
}

} // namespace zemm::reorder
