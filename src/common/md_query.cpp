// SPDX-License-Identifier: Apache-2.0
// Answers queries of memory descriptors.
#include "common/error.hpp"
#include "common/md_ops.hpp"
#include "common/names.hpp"

namespace zemm {

namespace {

template <typename T> void answer(void *result, T value) {
    *static_cast<T *>(result) = value;
}

void need_kind(const memory_desc &md, zemm_format_kind_t kind, zemm_query_t what) {
    if (md.format_kind != kind)
        fail(zemm_invalid_arguments,
             "zemm_memory_desc_query: query %d is for format %s, the descriptor's is %s", int(what),
             format_kind_name(kind), format_kind_name(md.format_kind));
}

zemm_data_type_t data_type_at(const memory_desc &md, int index) {
    if (index == 0)
        return md.data_type;
    const bool sparse = md.format_kind == zemm_format_kind_sparse;
    const int part = sparse && md.encoding == zemm_coo ? 0 : index - 1; // all indices of COO have one type
    const zemm_data_type_t dt = sparse && part < 2 ? md.metadata_types[part] : zemm_data_type_undef;
    if (dt == zemm_data_type_undef)
        fail(zemm_invalid_arguments, "zemm_memory_desc_query_v2: the descriptor has no data type %d", index);
    return dt;
}

} // namespace

void md_query(const memory_desc &md, zemm_query_t what, int index, void *result) {
    require(result, "result");
    if (index < 0 || (index > 0 && what != zemm_query_data_type))
        fail(zemm_invalid_arguments, "zemm_memory_desc_query_v2: index %d for query %d", index, int(what));
    switch (what) {
    case zemm_query_ndims_s32:
        return answer<int>(result, md.ndims);
    case zemm_query_dims:
        return answer(result, &md.dims);
    case zemm_query_data_type:
        return answer(result, data_type_at(md, index));
    case zemm_query_submemory_offset_s64:
        return answer<int64_t>(result, md.offset0);
    case zemm_query_padded_dims:
        return answer(result, &md.padded_dims);
    case zemm_query_padded_offsets:
        return answer(result, &md.padded_offsets);
    case zemm_query_format_kind:
        return answer(result, md.format_kind);
    case zemm_query_num_handles_s32:
        return answer<int>(result, md_num_handles(md));
    case zemm_query_strides:
        need_kind(md, zemm_blocked, what);
        return answer(result, &md.strides);
    case zemm_query_inner_nblks_s32:
        need_kind(md, zemm_blocked, what);
        return answer<int>(result, md.inner_nblks);
    case zemm_query_inner_blks:
        need_kind(md, zemm_blocked, what);
        return answer(result, &md.inner_blks);
    case zemm_query_inner_idxs:
        need_kind(md, zemm_blocked, what);
        return answer(result, &md.inner_idxs);
    case zemm_query_sparse_encoding:
        need_kind(md, zemm_format_kind_sparse, what);
        return answer(result, md.encoding);
    case zemm_query_nnz_s64:
        need_kind(md, zemm_format_kind_sparse, what);
        return answer<int64_t>(result, md.nnz);
    default:
        fail(zemm_unimplemented, "zemm_memory_desc_query: query %d is not about memory descriptors",
             int(what));
    }
}

} // namespace zemm
