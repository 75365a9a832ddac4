// SPDX-License-Identifier: Apache-2.0
#include "reorder/problem.hpp"

#include "common/error.hpp"
#include "common/md_ops.hpp"

namespace zemm::reorder {

namespace {

const quant_entry *find(const quant_map &map, int arg) {
    const auto it = map.find(arg);
    return it == map.end() ? nullptr : &it->second;
}

} // namespace

bool problem::is_copy() const {
    return src.data_type == dst.data_type && attr.scales.empty() && attr.zero_points.empty() && !sum();
}

bool problem::is_dynamic() const {
    const quant_entry *e = scale(ZEMM_ARG_DST);
    return e && e->mode != zemm_quantization_mode_static_sazp;
}

const quant_entry *problem::scale(int arg) const {
    return find(attr.scales, arg);
}
const quant_entry *problem::zero_point(int arg) const {
    return find(attr.zero_points, arg);
}
const quant_entry *problem::reductions() const {
    return find(attr.precomputed_reductions, ZEMM_ARG_DST);
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
    if (p.is_dynamic())
        check_dynamic(p);
    return p;
}

zemm_dim_t group_of(const problem &p, const quant_entry &entry) {
    const int last = p.dst.ndims - 1;
    if (!(entry.mask >> last & 1))
        return p.dst.dims[last];
    return entry.group_ndims == 2 ? entry.groups[1] : 1;
}

quant_entry zero_points_entry(const problem &p) {
    quant_entry e = *p.scale(ZEMM_ARG_DST);
    e.data_type = zemm_s32;
    e.mode = zemm_quantization_mode_static_sazp;
    return e;
}

std::string problem_key(const problem &p) {
    std::string key = attr_key(p.attr);
    for (const memory_desc *md : {&p.src, &p.dst}) {
        const std::vector<uint8_t> bytes = md_save(*md);
        key.append(bytes.begin(), bytes.end());
    }
    return key;
}

} // namespace zemm::reorder
