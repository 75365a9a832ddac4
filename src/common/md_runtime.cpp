// SPDX-License-Identifier: Apache-2.0
#include "common/md_runtime.hpp"

#include <algorithm>

#include "common/layout.hpp"
#include "common/md_check.hpp"

namespace zemm {

bool md_fits(const memory_desc &actual, const memory_desc &asked) {
    memory_desc filled = asked;
    filled.data_type = actual.data_type;
    filled.offset0 = actual.offset0;
    for (int d = 0; d < asked.ndims; ++d)
        for (const auto values : {&memory_desc::dims, &memory_desc::padded_dims, &memory_desc::strides})
            if ((asked.*values)[d] == runtime_dim)
                (filled.*values)[d] = (actual.*values)[d];
    return md_equal(actual, filled);
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
