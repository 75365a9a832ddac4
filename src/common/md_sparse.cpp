// SPDX-License-Identifier: Apache-2.0
// Creates sparse descriptors.
#include <algorithm>

#include "common/error.hpp"
#include "common/md_check.hpp"
#include "common/md_ops.hpp"
#include "common/names.hpp"

namespace zemm {

namespace {

memory_desc sparse(const char *caller, int ndims, const zemm_dim_t *dims, zemm_data_type_t dt,
                   zemm_sparse_encoding_t encoding, zemm_dim_t nnz) {
    check_shape(caller, ndims, dims, dt);
    check_nnz(caller, nnz);
    check_rows(caller, dims[0]);
    memory_desc md;
    md.ndims = ndims;
    md.data_type = dt;
    md.format_kind = zemm_format_kind_sparse;
    std::copy_n(dims, ndims, md.dims);
    std::copy_n(dims, ndims, md.padded_dims);
    md.encoding = encoding;
    md.nnz = nnz;
    return md;
}

void check_matrix(const char *caller, int ndims) {
    if (ndims > 2)
        fail(zemm_unimplemented, "%s: ndims %d is more than 2", caller, ndims);
}

} // namespace

memory_desc md_csr(int ndims, const zemm_dim_t *dims, zemm_data_type_t dt, zemm_dim_t nnz,
                   zemm_data_type_t indices_dt, zemm_data_type_t pointers_dt) {
    const char *const caller = "zemm_memory_desc_create_with_csr_encoding";
    if (ndims == 0)
        return {};
    check_matrix(caller, ndims);
    memory_desc md = sparse(caller, ndims, dims, dt, zemm_csr, nnz);
    check_data_type(caller, "indices_dt", md.metadata_types[0] = indices_dt);
    check_data_type(caller, "pointers_dt", md.metadata_types[1] = pointers_dt);
    return md;
}

memory_desc md_coo(int ndims, const zemm_dim_t *dims, zemm_data_type_t dt, zemm_dim_t nnz,
                   zemm_data_type_t indices_dt) {
    const char *const caller = "zemm_memory_desc_create_with_coo_encoding";
    if (ndims == 0)
        return {};
    check_matrix(caller, ndims);
    memory_desc md = sparse(caller, ndims, dims, dt, zemm_coo, nnz);
    check_data_type(caller, "indices_dt", md.metadata_types[0] = indices_dt);
    return md;
}

memory_desc md_packed(int ndims, const zemm_dim_t *dims, zemm_data_type_t dt, zemm_dim_t nnz) {
    if (ndims == 0)
        return {};
    return sparse("zemm_memory_desc_create_with_packed_encoding", ndims, dims, dt, zemm_packed, nnz);
}

memory_desc md_grouped(int ndims, const zemm_dim_t *dims, zemm_data_type_t dt, int variable_dim,
                       zemm_dim_t group_count, zemm_data_type_t offsets_dt) {
    const char *const caller = "zemm_memory_desc_create_with_grouped_encoding";
    if (ndims != 2)
        fail(zemm_unimplemented, "%s: ndims %d is not 2", caller, ndims);
    memory_desc md = sparse(caller, ndims, dims, dt, zemm_grouped, 0);
    if (variable_dim != 0 && variable_dim != 1)
        fail(zemm_invalid_arguments, "%s: variable_dim_idx %d is not 0 or 1", caller, variable_dim);
    if (group_count <= 0)
        fail(zemm_invalid_arguments, "%s: group_count %lld is not positive", caller, (long long)group_count);
    checked_mul(caller, group_count, 8);
    if (offsets_dt != zemm_s32)
        fail(zemm_invalid_arguments, "%s: offsets_dt %s is not s32", caller, data_type_name(offsets_dt));
    for (int d = 0; d < 2; d++)
        if (dims[d] <= 0)
            fail(zemm_invalid_arguments, "%s: the dims %s must be known and positive", caller,
                 dims_text(md).c_str());
    md.nnz = dims[0] * dims[1]; // a grouped tensor stores all elements
    md.metadata_types[0] = offsets_dt;
    md.variable_dim = variable_dim;
    md.group_count = group_count;
    return md;
}

} // namespace zemm
