// SPDX-License-Identifier: Apache-2.0
// Plans reorder_pack.cl and reorder_pack_lanes.cl, which move plain weights [.., K, N] into the
// packed layouts of the matmul kernels.
#include <algorithm>

#include "common/md_check.hpp"
#include "primitive/launch_plan.hpp"
#include "reorder/plan.hpp"

namespace zemm::reorder {

namespace {

int together_of(const memory_desc &md) {
    return PACK_TOGETHER(data_type_bits(md.data_type));
}

// Whether the inner blocks are PACK_K x columns, followed by unit elements of K if unit is not 1, and by the
// columns that share a byte. unit: see pack_problem in reorder_args.h.
bool has_pack_blocks(const memory_desc &md, int unit) {
    const int k = md.ndims - 2, n = md.ndims - 1, together = together_of(md);
    if (md.inner_nblks != (unit == 1 ? 2 : together == 1 ? 3 : 4))
        return false;
    const zemm_dim_t *blks = md.inner_blks, *idxs = md.inner_idxs;
    return idxs[0] == k && blks[0] == PACK_K && idxs[1] == n && blks[1] % 16 == 0 && blks[1] <= 256 &&
           (unit == 1 || (idxs[2] == k && blks[2] == unit)) &&
           (together == 1 || (idxs[3] == n && blks[3] == together));
}

bool lies_along_k(const memory_desc &src) {
    const int k = src.ndims - 2, n = src.ndims - 1;
    return src.strides[k] == 1 && (src.strides[n] != 1 || src.dims[n] == 1);
}

int bits_of(const problem &p) {
    return data_type_bits(p.dst.data_type);
}

int unit_of(const problem &p) {
    return bits_of(p) <= 8 ? 4 : 1;
}

// Whether dst owns all of its blocks. A submemory may end inside a block, whose rest belongs to its
// neighbour.
bool has_whole_blocks(const memory_desc &dst) {
    const blocks b = md_blocks(dst);
    for (int d = 0; d < dst.ndims; ++d)
        if (dst.padded_dims[d] % b.of[d] != 0)
            return false;
    return true;
}

bool is_packing(const problem &p, std::string &why) {
    if (!p.is_copy() || bits_of(p) > 32 || crosses_bytes(p.dst.data_type))
        return refused(
            why, "it only moves elements of up to 32 bits, and of whole bytes or parts of one, as they are");
    if (p.src.ndims < 2 || !md_is_plain(p.src) || !has_pack_blocks(p.dst, unit_of(p)))
        return refused(why, "it only packs plain tensors into blocks of 16a64b, 16a64b4a or 16a16b4a4b");
    if (!has_whole_blocks(p.dst))
        return refused(why, "it writes whole blocks, and dst is a part that ends inside one");
    return true;
}

// blocks_per_item: the blocks along K of a work-item. in_lanes: a work-group has a work-item for
// each column of a block, or for the columns that share bytes; otherwise it has a single one.
void make_plan(const problem &p, const char *kernel, bool moves_along_k, zemm_dim_t blocks_per_item,
               bool in_lanes, launch_plan &result) {
    const memory_desc &src = p.src, &dst = p.dst;
    const int k = src.ndims - 2, n = src.ndims - 1;
    result.kernel = kernel;
    result.constants = {{REORDER_SPEC_FLAGS, moves_along_k ? PACK_K_CONTIGUOUS : 0u},
                        {REORDER_SPEC_BITS, uint32_t(bits_of(p))}};
    kernels::pack_problem block = {};
    block.k = src.dims[k];
    block.n = src.dims[n];
    block.src_offset = src.offset0;
    block.src_k = src.strides[k];
    block.src_n = src.strides[n];
    block.dst_offset = dst.offset0;
    block.dst_k = dst.strides[k];
    block.dst_n = dst.strides[n];
    block.columns = int(dst.inner_blks[1]) * together_of(dst);
    block.batch_ndims = src.ndims - 2;
    zemm_dim_t batch = 1;
    for (int d = 0; d < src.ndims - 2; ++d) {
        block.batch_dims[d] = src.dims[d];
        block.src_batch[d] = src.strides[d];
        block.dst_batch[d] = dst.strides[d];
        batch *= src.dims[d];
    }
    block.k_blocks = dst.padded_dims[k] / (PACK_K * unit_of(p));
    block.k_blocks_per_item = blocks_per_item;
    result.block = to_bytes(block);
    if (in_lanes)
        result.group_size = {uint32_t(dst.inner_blks[1]), 1, 1};
    if (!p.empty())
        result.group_count = {work_groups(dst.padded_dims[n], block.columns, "the reorder"),
                              work_groups(block.k_blocks, block.k_blocks_per_item, "the reorder"),
                              work_groups(batch, 1, "the reorder")};
}

} // namespace

bool plan_pack(const problem &p, const ze::device &, launch_plan &result, std::string &why) {
    if (!is_packing(p, why))
        return false;
    const int k = p.src.ndims - 2, n = p.src.ndims - 1;
    const bool along_k = lies_along_k(p.src);
    const bool rows = p.src.strides[n] == 1 && md_rows_begin_at(p.src, n, span_of(p.src.data_type));
    if (along_k ? !md_rows_begin_at(p.src, k, unit_of(p)) : !rows)
        return refused(
            why,
            "src needs stride 1 along one of its last two dimensions, and rows that begin at whole units");
    constexpr zemm_dim_t worth = 16; // the number of blocks that makes a work-item worth its launch
    make_plan(p, "reorder_pack", along_k, worth, false, result);
    return true;
}

bool plan_pack_lanes(const problem &p, const ze::device &, launch_plan &result, std::string &why) {
    if (!is_packing(p, why))
        return false;
    const bool moves = lies_along_k(p.src) && md_rows_begin_at(p.src, p.src.ndims - 2, unit_of(p));
    make_plan(p, "reorder_pack_lanes", moves, 1, true, result);
    return true;
}

} // namespace zemm::reorder
