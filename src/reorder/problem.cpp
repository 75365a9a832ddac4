// SPDX-License-Identifier: Apache-2.0
// Makes the problem of a reorder from the arguments of the C function.
#include "reorder/problem.hpp"

#include "common/attr.hpp"

namespace zemm::reorder {

bool problem::has_runtime() const {
    return md_has_runtime(src) || md_has_runtime(dst);
}

bool problem::is_copy() const {
    return src.data_type == dst.data_type && attr.scales.empty() && attr.zero_points.empty() && !sum();
}

bool problem::is_dynamic() const {
    const quant_entry *e = scale(ZEMM_ARG_DST);
    return e && e->mode != zemm_quantization_mode_static_sazp;
}

const quant_entry *problem::scale(int arg) const {
    return find_entry(attr.scales, arg);
}
const quant_entry *problem::zero_point(int arg) const {
    return find_entry(attr.zero_points, arg);
}
const quant_entry *problem::reductions() const {
    return find_entry(attr.precomputed_reductions, ZEMM_ARG_DST);
}
const post_op *problem::sum() const {
    return attr.post_ops.entries.empty() ? nullptr : &attr.post_ops.entries[0];
}

problem make_problem(const memory_desc &src, const memory_desc &dst, const zemm_primitive_attr *attr) {
    problem p;
    p.src = src;
    p.dst = dst;
    if (attr)
        p.attr = *attr;
    check_tensors(p);
    check_attributes(p);
    if (p.is_dynamic() && !p.has_runtime()) // else checked with the values
        check_dynamic(p);
    return p;
}

int group_dim(const problem &p) {
    return p.dst.ndims - (p.scale(ZEMM_ARG_DST)->groups[0] == 1 ? 1 : 2);
}

zemm_dim_t group_of(const problem &p, const quant_entry &entry) {
    return group_along(p.dst, entry, p.dst.ndims - 1);
}

quant_entry zero_points_entry(const problem &p) {
    quant_entry e = *p.scale(ZEMM_ARG_DST);
    e.data_type = zemm_s32;
    e.mode = zemm_quantization_mode_static_sazp;
    return e;
}

} // namespace zemm::reorder
