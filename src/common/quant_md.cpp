// SPDX-License-Identifier: Apache-2.0
#include "common/quant_md.hpp"

namespace zemm {

memory_desc md_dense(int ndims, const zemm_dim_t *dims, zemm_data_type_t dt) {
    memory_desc md;
    md.ndims = ndims;
    md.data_type = dt;
    md.format_kind = zemm_blocked;
    zemm_dim_t stride = 1;
    for (int d = ndims - 1; d >= 0; --d) {
        md.dims[d] = md.padded_dims[d] = dims[d];
        md.strides[d] = stride;
        stride *= dims[d];
    }
    return md;
}

memory_desc md_of_quant(const memory_desc &tensor, const quant_entry &entry) {
    const int ndims = tensor.ndims;
    zemm_dims_t dims = {};
    for (int d = 0; d < ndims; ++d) {
        dims[d] = entry.mask >> d & 1 ? tensor.dims[d] : 1;
        if (entry.group_ndims == 2 && d >= ndims - 2 && (entry.mask >> d & 1))
            dims[d] /= entry.groups[d - (ndims - 2)];
    }
    return md_dense(ndims, dims, entry.data_type);
}

} // namespace zemm
