// SPDX-License-Identifier: Apache-2.0
#include "common/md_runtime.hpp"

#include <algorithm>

#include "common/layout.hpp"
#include "common/md_check.hpp"

namespace zemm {

namespace {

bool fits(zemm_dim_t actual, zemm_dim_t asked) {
    return asked == runtime_dim || actual == asked;
}

} // namespace

bool md_fits(const memory_desc &actual, const memory_desc &asked) {
    if (actual.ndims != asked.ndims || actual.format_kind != asked.format_kind ||
        actual.inner_nblks != asked.inner_nblks ||
        !std::equal(actual.inner_blks, actual.inner_blks + actual.inner_nblks, asked.inner_blks) ||
        !std::equal(actual.inner_idxs, actual.inner_idxs + actual.inner_nblks, asked.inner_idxs))
        return false;
    for (int d = 0; d < actual.ndims; ++d) {
        if (!fits(actual.dims[d], asked.dims[d]) || !fits(actual.padded_dims[d], asked.padded_dims[d]))
            return false;
        // The stride of a dimension with a single element is never used.
        const bool has_stride = actual.dims[d] != 1 || actual.padded_dims[d] != 1;
        if (has_stride && !fits(actual.strides[d], asked.strides[d]))
            return false;
    }
    return true;
}

memory_desc md_with_dims(const memory_desc &asked, const zemm_dim_t *dims) {
    memory_desc md = asked;
    std::copy_n(dims, md.ndims, md.dims);
    md.offset0 = 0;
    apply_layout("runtime dimensions", md, layout_of(asked));
    return md;
}

int runtime_dims_mask(const memory_desc &md) {
    int mask = 0;
    for (int d = 0; d < md.ndims; ++d)
        mask |= (md.dims[d] == runtime_dim) << d;
    return mask;
}

zemm_dim_t runtime_product(zemm_dim_t a, zemm_dim_t b) {
    return a == runtime_dim || b == runtime_dim ? runtime_dim : a * b;
}

} // namespace zemm
