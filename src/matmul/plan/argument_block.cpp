// SPDX-License-Identifier: Apache-2.0
#include "matmul/plan/argument_block.hpp"

#include "common/attr.hpp"

namespace zemm::matmul {

namespace {

using kernels::matmul_problem;
using kernels::tensor_arg;

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

} // namespace

tensor_arg tensor(const memory_desc &md) {
    tensor_arg t = {};
    t.row_group = t.column_group = 1;
    t.data_type = md.data_type;
    if (md.ndims == 0)
        return t;
    const int batch = md.ndims - 2;
    t.offset0 = md.offset0;
    for (int d = 0; d < batch; ++d)
        t.batch[d] = broadcast_stride(md, d);
    t.row = broadcast_stride(md, batch);
    t.column = broadcast_stride(md, batch + 1);
    return t;
}

tensor_arg quant_tensor(const memory_desc &md, const quant_entry *entry) {
    if (!entry)
        return tensor(memory_desc());
    tensor_arg t = tensor(md_of_quant(md, *entry));
    set_parameter(t, md, *entry);
    if (entry->is_on_host)
        t.data_type = 0;
    return t;
}

matmul_problem make_epilogue_block(const problem &p) {
    matmul_problem block = {};
    block.m = p.m();
    block.n = p.n();
    block.batch_ndims = p.ndims() - 2;
    for (int d = 0; d < block.batch_ndims; ++d)
        block.batch_dims[d] = p.dst.dims[d];
    block.dst = tensor(p.dst);
    block.bias = tensor(p.bias);
    block.dst_scale = quant_tensor(p.dst, p.scale(ZEMM_ARG_DST));
    block.dst_zp = quant_tensor(p.dst, p.zero_point(ZEMM_ARG_DST));
    fill_post_ops(p, block);
    return block;
}

matmul_problem make_whole_block(const problem &p) {
    matmul_problem block = make_epilogue_block(p);
    block.k = p.k();
    block.src = tensor(p.src);
    block.wei = tensor(p.wei);
    block.src_scale = quant_tensor(p.src, p.scale(ZEMM_ARG_SRC));
    block.wei_scale = quant_tensor(p.wei, p.scale(ZEMM_ARG_WEIGHTS));
    block.src_zp = quant_tensor(p.src, p.zero_point(ZEMM_ARG_SRC));
    block.wei_zp = quant_tensor(p.wei, p.zero_point(ZEMM_ARG_WEIGHTS));
    return block;
}

matmul_problem make_argument_block(const facts &f) {
    const problem &p = f.run();
    matmul_problem block = make_whole_block(p);
    block.segment = f.empty ? 1 : f.segment;
    block.rows = f.matrix_rows;
    block.grouping = p.grouped == grouping::rows ? kernels::ROW_GROUPS
                     : p.grouped == grouping::k  ? kernels::K_GROUPS
                                                 : kernels::NO_GROUPS;
    if (f.wei_reading == reading::packed)
        block.wei_panel = p.wei.strides[p.ndims() - 1];
    return block;
}

} // namespace zemm::matmul
