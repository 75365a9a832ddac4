// SPDX-License-Identifier: Apache-2.0
#include "matmul/problem/sparse.hpp"

#include <algorithm>

#include "common/error.hpp"
#include "common/names.hpp"
#include "matmul/problem/grouped.hpp"
#include "matmul/problem/packed_weights.hpp"
#include "primitive/refusals.hpp"

namespace zemm::matmul {

namespace {

void check_packed(const memory_desc &wei) {
    if (wei.data_type != zemm_s8)
        fail(zemm_unimplemented, "weights: the packed encoding needs s8, not %s",
             data_type_name(wei.data_type));
}

void check_matrix(const char *name, const memory_desc &md) {
    if (md.encoding != zemm_csr && md.encoding != zemm_coo)
        refuse_sparse(name, md);
    if (md.ndims != 2)
        fail(zemm_unimplemented, "%s: a sparse matrix has 2 dimensions, not %d", name, md.ndims);
    for (const zemm_data_type_t index : md.metadata_types)
        if (index != zemm_s32 && index != zemm_data_type_undef)
            fail(zemm_unimplemented, "%s: indices of %s are not implemented, s32 are", name,
                 data_type_name(index));
    if (md.data_type != zemm_f32 && md.data_type != zemm_f16)
        fail(zemm_unimplemented, "%s: the %s encoding needs f32 or f16, not %s", name,
             sparse_encoding_name(md.encoding), data_type_name(md.data_type));
}

void check_known(const char *name, const memory_desc &md) {
    if (md_has_runtime(md))
        fail(zemm_unimplemented, "%s: a sparse tensor needs known dimensions and a known number of values",
             name);
}

} // namespace

bool is_sparse_packed(const memory_desc &md) {
    return md_is_sparse(md) && md.encoding == zemm_packed;
}

void check_sparse(const problem &p) {
    for (int arg : {ZEMM_ARG_WEIGHTS, ZEMM_ARG_DST, ZEMM_ARG_BIAS})
        if (md_is_grouped(p.tensor(arg)))
            fail(zemm_unimplemented, "%s: grouped, but src is not: a grouped matmul has a grouped src",
                 arg == ZEMM_ARG_BIAS ? "bias" : tensor_name(arg));
    if (md_is_sparse(p.src)) {
        check_matrix("src", p.src);
        check_known("src", p.src);
    }
    if (md_is_sparse(p.wei)) {
        if (is_sparse_packed(p.wei))
            check_packed(p.wei);
        else
            check_matrix("weights", p.wei);
        check_known("weights", p.wei);
    }
    if (md_is_sparse(p.src) && md_is_sparse(p.wei))
        fail(zemm_unimplemented, "src and weights are both sparse: a matmul takes one sparse tensor");
    refuse_sparse("dst", p.dst);
    refuse_sparse("bias", p.bias);
}

memory_desc with_packed_layout(const memory_desc &md) {
    const memory_desc blocked = packed_weights(md);
    memory_desc made = md;
    made.inner_nblks = blocked.inner_nblks;
    std::ranges::copy(blocked.padded_dims, made.padded_dims);
    std::ranges::copy(blocked.strides, made.strides);
    std::ranges::copy(blocked.inner_blks, made.inner_blks);
    std::ranges::copy(blocked.inner_idxs, made.inner_idxs);
    return made;
}

} // namespace zemm::matmul
