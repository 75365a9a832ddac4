// SPDX-License-Identifier: Apache-2.0
#include "matmul/plan.hpp"

#include <algorithm>

#include "common/error.hpp"
#include "common/quant_md.hpp"
#include "matmul/packing.hpp"

namespace zemm::matmul {

namespace {

using kernels::matmul_problem;
using kernels::tensor_arg;

// Strides of a plain tensor; dimensions of 1 have stride 0, so that any coordinate of dst fits.
tensor_arg tensor(const memory_desc &md) {
    tensor_arg t = {};
    t.row_group = t.column_group = 1;
    t.data_type = md.data_type;
    if (md.ndims == 0)
        return t;
    const int batch = md.ndims - 2;
    const auto stride = [&](int d) { return md.dims[d] == 1 ? 0 : md.strides[d]; };
    t.offset0 = md.offset0;
    for (int d = 0; d < batch; ++d)
        t.batch[d] = stride(d);
    t.row = stride(batch);
    t.column = stride(batch + 1);
    return t;
}

tensor_arg quant_tensor(const memory_desc &md, const quant_entry *entry) {
    if (!entry)
        return tensor(memory_desc());
    tensor_arg t = tensor(md_of_quant(md, *entry));
    if (entry->group_ndims == 2) {
        if (entry->mask & row_bit(md.ndims))
            t.row_group = entry->groups[0];
        if (entry->mask & column_bit(md.ndims))
            t.column_group = entry->groups[1];
    }
    t.on_host = entry->is_on_host;
    return t;
}

// Sums of src over segments, [src batch.., M, K / segment] s32, dense: what reduce_src writes or the caller
// passes.
memory_desc reductions_md(const problem &p, zemm_dim_t segment) {
    quant_entry entry;
    entry.mask = full_mask(p.ndims());
    entry.group_ndims = 2;
    entry.groups[1] = segment;
    entry.data_type = zemm_s32;
    return md_of_quant(p.src, entry);
}

void fill_post_ops(const problem &p, matmul_problem &block) {
    for (const post_op &op : p.attr.post_ops.entries) {
        kernels::post_op_arg &arg = block.post_ops[block.post_ops_len++];
        arg = {};
        arg.alg = op.alg;
        arg.alpha = op.alpha;
        arg.beta = op.beta;
        arg.src1 = tensor(op.src1);
        arg.src2 = tensor(op.src2);
        if (op.kind == zemm_sum) {
            arg.alg = POST_OP_SUM;
            arg.alpha = op.scale;
            arg.zero_point = op.zero_point;
            arg.src1.data_type = op.data_type == zemm_data_type_undef ? p.dst.data_type : op.data_type;
        } else if (op.kind == zemm_prelu) {
            arg.alg = POST_OP_PRELU;
            arg.src1 = tensor(prelu_md(p.dst, op.mask));
        }
    }
}

// Whether bytes of the weights and of src have the same signedness, where a policy needs the opposite one.
bool changes_signedness(const problem &p) {
    const bool signed_src = p.src.data_type == zemm_s8;
    switch (p.wei.data_type) {
    case zemm_s8:
    case zemm_s4: // 0..15 are either; a signed s4 is only a shift away
        return signed_src;
    case zemm_u8:
        return !signed_src;
    default:
        return false;
    }
}

uint32_t flags_of(const problem &p, const kernel_row &row) {
    uint32_t flags = 0;
    const auto set = [&](bool condition, uint32_t flag) { flags |= condition ? flag : 0; };
    const quant_entry *src_scale = p.scale(ZEMM_ARG_SRC), *wei_scale = p.scale(ZEMM_ARG_WEIGHTS);
    const quant_entry *wei_zp = p.zero_point(ZEMM_ARG_WEIGHTS);
    const auto along_k = [&](const quant_entry *entry, bool k_is_row) {
        return entry && k_group(p, *entry, k_is_row) != p.k();
    };
    set(p.integer(), FLAG_INTEGER);
    set(p.zero_point(ZEMM_ARG_SRC), FLAG_SRC_ZP);
    set(wei_zp, FLAG_WEI_ZP);
    set(along_k(wei_zp, true), FLAG_WEI_ZP_K);
    set(p.integer() && (wei_zp || (row.multiplies == operands::int8 && changes_signedness(p))),
        FLAG_REDUCTIONS);
    set(src_scale, FLAG_SRC_SCALE);
    set(wei_scale, FLAG_WEI_SCALE);
    set(along_k(src_scale, false), FLAG_SRC_SCALE_K);
    set(along_k(wei_scale, true), FLAG_WEI_SCALE_K);
    set(p.has_bias(), FLAG_BIAS);
    set(!p.attr.post_ops.entries.empty(), FLAG_POST_OPS);
    set(p.scale(ZEMM_ARG_DST), FLAG_DST_SCALE);
    set(p.zero_point(ZEMM_ARG_DST), FLAG_DST_ZP);
    const uint32_t through_f32 =
        FLAG_SRC_SCALE | FLAG_WEI_SCALE | FLAG_BIAS | FLAG_POST_OPS | FLAG_DST_SCALE | FLAG_DST_ZP;
    set(p.integer() && p.dst.data_type == zemm_s32 && !(flags & through_f32), FLAG_EXACT_S32);
    return flags;
}

// Which of the last two dimensions can be read sixteen elements at a time. 4-bit types: every run of elements
// must begin at a whole byte, in particular those along K, which begin at each segment.
uint32_t unit_dim(const memory_desc &md, zemm_dim_t segment) {
    if (is_packed(md))
        return UNIT_PACKED;
    const int row = md.ndims - 2, column = md.ndims - 1;
    const auto whole_bytes = [&](int inner) {
        if (!is_int4(md.data_type))
            return true;
        for (int d = 0; d < md.ndims; ++d)
            if (d != inner && md.dims[d] > 1 && md.strides[d] % 2 != 0)
                return false;
        return md.offset0 % 2 == 0;
    };
    if (md.dims[column] > 1 && md.strides[column] == 1 && whole_bytes(column))
        return UNIT_COLUMN;
    const bool whole_segments = !is_int4(md.data_type) || segment % 2 == 0 || segment == md.dims[row];
    if (md.dims[row] > 1 && md.strides[row] == 1 && whole_bytes(row) && whole_segments)
        return UNIT_ROW;
    return UNIT_NONE;
}

// As the specialisation constants have it: 0 for host scalars, and where there is no parameter.
uint32_t parameter_type(const quant_entry *entry) {
    return entry && !entry->is_on_host ? uint32_t(entry->data_type) : 0;
}

zemm_dim_t groups(zemm_dim_t items, zemm_dim_t per_group, const char *what) {
    const zemm_dim_t count = (items + per_group - 1) / per_group;
    if (count > UINT32_MAX)
        fail(zemm_unimplemented, "%s needs %lld groups, a launch has at most 2^32 - 1", what,
             (long long)count);
    return count;
}

constexpr zemm_dim_t enough_groups = 8; // to share between the cores of a device

} // namespace

plan make_plan(const problem &p, const kernel_row &row) {
    plan result = {};
    result.row = &row;
    const int batch_ndims = p.ndims() - 2;
    const zemm_dim_t segment = p.empty() ? 1 : k_segment(p);

    matmul_problem &block = result.block;
    block.m = p.m();
    block.n = p.n();
    block.k = p.k();
    block.segment = segment;
    block.batch_ndims = batch_ndims;
    for (int d = 0; d < batch_ndims; ++d)
        block.batch_dims[d] = p.dst.dims[d];
    // Weights that are the same for the whole batch see it as more rows.
    const bool shared_weights =
        std::all_of(p.wei.dims, p.wei.dims + batch_ndims, [](zemm_dim_t d) { return d == 1; });
    block.rows = shared_weights ? p.batch() * p.m() : p.m();
    block.src = tensor(p.src);
    block.wei = tensor(p.wei);
    block.dst = tensor(p.dst);
    block.bias = tensor(p.bias);
    block.src_scale = quant_tensor(p.src, p.scale(ZEMM_ARG_SRC));
    block.wei_scale = quant_tensor(p.wei, p.scale(ZEMM_ARG_WEIGHTS));
    block.dst_scale = quant_tensor(p.dst, p.scale(ZEMM_ARG_DST));
    block.src_zp = quant_tensor(p.src, p.zero_point(ZEMM_ARG_SRC));
    block.wei_zp = quant_tensor(p.wei, p.zero_point(ZEMM_ARG_WEIGHTS));
    block.dst_zp = quant_tensor(p.dst, p.zero_point(ZEMM_ARG_DST));
    fill_post_ops(p, block);

    if (p.empty())
        return result; // nothing is launched

    const zemm_dim_t along_n = groups(p.n(), zemm_dim_t(row.tile_n) * row.group_x, "N");
    const zemm_dim_t batch = shared_weights ? 1 : groups(p.batch(), 1, "the batch");
    // Tiles of nearly equal height, and some for every core.
    const zemm_dim_t wanted = (enough_groups + along_n * batch - 1) / (along_n * batch);
    const zemm_dim_t tiles = std::max(groups(block.rows, row.tile_m, "M"),
                                      std::min<zemm_dim_t>(wanted, groups(block.rows, row.rows, "M")));
    block.tile_rows = int32_t((block.rows + tiles - 1) / tiles);
    const zemm_dim_t along_m = groups(block.rows, block.tile_rows, "M");
    result.group_count = {uint32_t(groups(along_m * along_n, 1, "M x N")), uint32_t(batch), 1};
    if (is_packed(p.wei))
        block.wei_panel = p.wei.strides[p.ndims() - 1];

    uint32_t flags = flags_of(p, row);
    if (segment <= row.tile_k)
        flags |= FLAG_WHOLE_SEGMENTS;
    if (row.multiplies == operands::int8 && p.k() % 4 != 0)
        flags |= FLAG_K_TAIL;
    if (row.multiplies == operands::int8 && is_packed(p.wei) && block.tile_rows <= row.rows)
        flags |= FLAG_ONE_GROUP;
    result.constants = {{SPEC_SRC_DT, uint32_t(p.src.data_type)},
                        {SPEC_WEI_DT, uint32_t(p.wei.data_type)},
                        {SPEC_DST_DT, uint32_t(p.dst.data_type)},
                        {SPEC_FLAGS, flags},
                        {SPEC_SRC_UNIT, unit_dim(p.src, segment)},
                        {SPEC_WEI_UNIT, unit_dim(p.wei, segment)},
                        {SPEC_SRC_SCALE_DT, parameter_type(p.scale(ZEMM_ARG_SRC))},
                        {SPEC_WEI_SCALE_DT, parameter_type(p.scale(ZEMM_ARG_WEIGHTS))},
                        {SPEC_SRC_ZP_DT, parameter_type(p.zero_point(ZEMM_ARG_SRC))},
                        {SPEC_WEI_ZP_DT, parameter_type(p.zero_point(ZEMM_ARG_WEIGHTS))}};

    if (flags & FLAG_REDUCTIONS) {
        const memory_desc md = reductions_md(p, block.segment);
        block.reductions = tensor(md);
        result.computes_reductions = !p.reduction();
        if (result.computes_reductions) {
            result.scratchpad_size = md_size(md);
            result.reduce_count = {uint32_t(groups(p.k() / block.segment, REDUCE_SEGMENTS, "K")),
                                   uint32_t(groups(p.batch() * p.m(), 1, "M")), 1};
        }
    }
    return result;
}

} // namespace zemm::matmul
