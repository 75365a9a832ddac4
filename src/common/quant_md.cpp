// SPDX-License-Identifier: Apache-2.0
// Descriptors and groups of parameter tensors.
#include "common/quant_md.hpp"

#include "common/error.hpp"
#include "common/md_check.hpp"
#include "common/md_runtime.hpp"
#include "common/names.hpp"

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
        stride = runtime_product(stride, dims[d]);
    }
    return md;
}

memory_desc md_of_quant(const memory_desc &tensor, const quant_entry &entry) {
    const int ndims = tensor.ndims;
    zemm_dims_t dims = {};
    for (int d = 0; d < ndims; ++d)
        dims[d] = !(entry.mask >> d & 1)          ? 1
                  : tensor.dims[d] == runtime_dim ? runtime_dim
                                                  : tensor.dims[d] / group_size(entry, ndims, d);
    return md_dense(ndims, dims, entry.data_type);
}

zemm_dim_t group_size(const quant_entry &entry, int ndims, int d) {
    const int last = d - (ndims - 2); // index among the last two dimensions
    return entry.group_ndims == 2 && last >= 0 && (entry.mask >> d & 1) ? entry.groups[last] : 1;
}

zemm_dim_t group_along(const memory_desc &tensor, const quant_entry &entry, int d) {
    return entry.mask >> d & 1 ? group_size(entry, tensor.ndims, d) : tensor.dims[d];
}

float_scaling float_scaling_of(zemm_quantization_mode_t mode) {
#define ZEMM_FLOAT_SCALING(name, of_mode, type, group)                                                       \
    if (mode == zemm_quantization_mode_##of_mode)                                                            \
        return {zemm_##type, group};
#include "common/scalings.def"
    fail(zemm_runtime_error, "quantization mode %s has no scales that are computed",
         quantization_mode_name(mode));
}

} // namespace zemm
