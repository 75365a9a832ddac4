// SPDX-License-Identifier: Apache-2.0
#include "matmul/problem/problem.hpp"

#include <numeric>

namespace zemm::matmul {

zemm_dim_t problem::batch() const {
    zemm_dim_t product = 1;
    for (int d = 0; d < ndims() - 2; ++d)
        product *= dst.dims[d];
    return product;
}

bool problem::empty() const {
    return md_nelems(src) == 0 || md_nelems(wei) == 0 || md_nelems(dst) == 0;
}

const memory_desc &problem::tensor(int arg) const {
    switch (arg) {
    case ZEMM_ARG_SRC:
        return src;
    case ZEMM_ARG_WEIGHTS:
        return wei;
    case ZEMM_ARG_BIAS:
        return bias;
    default:
        return dst;
    }
}

const quant_entry *problem::scale(int arg) const {
    return find_entry(attr.scales, arg);
}
const quant_entry *problem::zero_point(int arg) const {
    const quant_entry *offset = find_entry(attr.offsets, arg);
    return offset ? offset : find_entry(attr.zero_points, arg);
}
bool problem::has_float_zero_points() const {
    const quant_entry *entry = zero_point(ZEMM_ARG_WEIGHTS);
    return has_offsets() || (entry && is_floating(entry->data_type));
}
const quant_entry *problem::scale_factor() const {
    return find_entry(attr.scale_factors, ZEMM_ARG_WEIGHTS);
}
const quant_entry *problem::offset_factor() const {
    return find_entry(attr.offset_factors, ZEMM_ARG_WEIGHTS);
}
const quant_entry *problem::reduction() const {
    return find_entry(attr.precomputed_reductions, ZEMM_ARG_SRC);
}

problem unchecked_problem(const memory_desc &src, const memory_desc &wei, const memory_desc *bias,
                          const memory_desc &dst, const zemm_primitive_attr *attr) {
    problem p;
    p.src = src;
    p.wei = wei;
    p.dst = dst;
    if (bias)
        p.bias = *bias;
    if (attr)
        p.attr = *attr;
    return p;
}

zemm_dim_t k_group(const problem &p, const quant_entry &entry, bool k_is_row) {
    return k_is_row ? group_along(p.wei, entry, p.ndims() - 2) : group_along(p.src, entry, p.ndims() - 1);
}

zemm_dim_t shared_k_group(const problem &p, std::initializer_list<zemm_dim_t> groups) {
    zemm_dim_t shared = 0;
    for (zemm_dim_t group : groups)
        shared = group == p.k() ? shared : std::gcd(shared, group);
    return shared == 0 ? p.k() : shared;
}

std::string dims_line(const problem &p) {
    // A grouped tensor is a batch to the kernels, but not to the caller.
    const auto line = [](const memory_desc &md, bool is_grouped) {
        return is_grouped ? dims_text(md.ndims - 1, md.dims + 1) : dims_text(md);
    };
    return line(p.src, p.grouped != grouping::none) + ":" + line(p.wei, p.grouped == grouping::k);
}

} // namespace zemm::matmul
