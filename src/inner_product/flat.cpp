// SPDX-License-Identifier: Apache-2.0
#include "inner_product/flat.hpp"

#include <algorithm>
#include <numeric>

namespace zemm::inner_product {

dim_order row_major(int ndims) {
    dim_order order(ndims - 1);
    std::iota(order.begin(), order.end(), 1);
    return order;
}

dim_order channels_last(int ndims) {
    dim_order order = row_major(ndims);
    std::rotate(order.begin(), order.begin() + 1, order.end());
    return order;
}

dim_order order_of(const memory_desc &md) {
    dim_order order = row_major(md.ndims);
    std::ranges::stable_sort(order, [&](int a, int b) { return md.strides[a] > md.strides[b]; });
    return order;
}

memory_desc dense_in(const dim_order &order, const memory_desc &md, bool first_is_innermost) {
    zemm_dims_t strides = {};
    zemm_dim_t stride = 1;
    const auto place = [&](int d) {
        strides[d] = stride;
        stride *= std::max<zemm_dim_t>(md.dims[d], 1);
    };
    if (first_is_innermost)
        place(0);
    std::for_each(order.rbegin(), order.rend(), place);
    if (!first_is_innermost)
        place(0);
    return md_with_strides(md.ndims, md.dims, md.data_type, strides);
}

namespace {

// A descriptor of md's data type and blocks with other dimensions, of which only the first one is set. The
// blocks of all but the first dimension become those of dimension d.
memory_desc with_blocks_of(const memory_desc &blocked, int ndims, int d) {
    memory_desc md = blocked;
    md.ndims = ndims;
    for (zemm_dims_t *values : {&md.dims, &md.padded_dims, &md.strides})
        std::fill(*values + 1, *values + ZEMM_MAX_NDIMS, 0);
    for (int i = 0; i < md.inner_nblks; ++i)
        md.inner_idxs[i] = md.inner_idxs[i] == 0 ? 0 : d;
    return md;
}

} // namespace

std::optional<memory_desc> flatten(const memory_desc &md, const dim_order &order) {
    const blocks block = md_blocks(md);
    memory_desc flat = with_blocks_of(md, 2, 1);
    flat.dims[1] = flat.padded_dims[1] = flat.strides[1] = 1;
    int inner = 0;       // the innermost dimension that is not 1, once there is one
    zemm_dim_t span = 0; // the stride of the next dimension outside of those that were met
    for (auto d = order.rbegin(); d != order.rend(); ++d) {
        if (md.dims[*d] == 1 && block.of[*d] == 1)
            continue;
        if (inner == 0) {
            inner = *d;
            flat.strides[1] = span = md.strides[inner];
        } else if (block.of[*d] != 1 || md.dims[inner] % block.of[inner] != 0 || md.strides[*d] != span) {
            return {};
        }
        const zemm_dim_t count = block_count(md, block, *d);
        span *= count;
        flat.dims[1] *= md.dims[*d];
        flat.padded_dims[1] *= count * block.of[*d];
    }
    return flat;
}

std::optional<memory_desc> unflatten(const memory_desc &matrix, const memory_desc &md,
                                     const dim_order &order) {
    const zemm_dim_t block = md_blocks(matrix).of[1];
    const auto is_real = [&](int d) { return md.dims[d] != 1; };
    const auto found = std::find_if(order.rbegin(), order.rend(), is_real);
    const int inner = found == order.rend() ? order.back() : *found;
    const bool is_alone = md.dims[inner] == matrix.dims[1];
    if (!is_alone && md.dims[inner] % block != 0)
        return {};
    memory_desc made = with_blocks_of(matrix, md.ndims, inner);
    zemm_dim_t stride = matrix.strides[1];
    for (auto d = order.rbegin(); d != order.rend(); ++d) {
        const zemm_dim_t of = *d == inner ? block : 1;
        const zemm_dim_t count = (md.dims[*d] + of - 1) / of;
        made.dims[*d] = md.dims[*d];
        made.padded_dims[*d] = count * of;
        made.strides[*d] = stride;
        stride *= count;
    }
    return made;
}

} // namespace zemm::inner_product
