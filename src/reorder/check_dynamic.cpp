// SPDX-License-Identifier: Apache-2.0
// Checks of dynamic quantisation, where the scales of dst (and, of integers, its zero points and
// precomputed reductions) are outputs. oneDNN's reorder has nothing of the kind. For f8 and f4 the rules
// are those of a matmul's dst.
#include <algorithm>
#include <cstdint>

#include "common/attr.hpp"
#include "common/error.hpp"
#include "common/names.hpp"
#include "reorder/problem.hpp"

namespace zemm::reorder {

namespace {

void check_row_contiguous(const char *name, const memory_desc &md) {
    const int last = md.ndims - 1;
    if (md_is_plain(md) && (md.dims[last] == 1 || md.strides[last] == 1))
        return;
    fail(zemm_unimplemented,
         "dynamic dst scales: %s must be plain with stride 1 along the last dimension, it has the layout %s",
         name, tag_text(md).c_str());
}

// Accepts one value per row, or one per group of 1xG, and refuses everything else.
void check_groups(const problem &p, const quant_entry &e, const char *name) {
    const int last = p.dst.ndims - 1, rows = (1 << last) - 1;
    if ((e.mask & rows) != rows)
        fail(zemm_unimplemented,
             "%s: mask %d is not one of %d (a value per row) and %d (per row and group of 1xG)", name, e.mask,
             rows, rows | 1 << last);
    if (e.group_ndims && e.groups[0] != 1)
        fail(zemm_unimplemented, "%s: the group %lld along the last but one dimension must be 1", name,
             (long long)e.groups[0]);
    if (e.is_on_host)
        fail(zemm_unimplemented, "%s are outputs: they cannot be a value on the host", name);
}

bool is_f8_or_f4(zemm_data_type_t dt) {
    return is_floating(dt) && is_small_float(dt);
}

// Scales of OCP MX and NVFP4.
void check_floats(const problem &p) {
    const quant_entry &e = *p.scale(ZEMM_ARG_DST);
    const zemm_data_type_t s = p.src.data_type;
    const char *const d = data_type_name(p.dst.data_type);
    const auto [type, group] = float_scaling_of(e.mode);
    const int all = (1 << p.dst.ndims) - 1;
    const bool groups = e.group_ndims == 2 && std::min(e.groups[0], e.groups[1]) == 1 &&
                        std::max(e.groups[0], e.groups[1]) == group;
    if (e.mask != all || e.data_type != type || !groups)
        fail(
            zemm_unimplemented,
            "dynamic dst scales of an %s dst: quantization mode %s needs the mask %d, the type %s and groups "
            "of 1x%lld or %lldx1",
            d, quantization_mode_name(e.mode), all, data_type_name(type), (long long)group, (long long)group);
    if (e.is_on_host)
        fail(zemm_unimplemented, "dynamic dst scales are outputs: they cannot be a value on the host");
    if (!is_floating(s) || data_type_bits(s) > 32)
        fail(zemm_unimplemented,
             "dynamic dst scales quantise floats of up to 32 bits to %s, not %s: reorder src to f32 first", d,
             data_type_name(s));
    if (p.sum() || p.scale(ZEMM_ARG_SRC) || p.zero_point(ZEMM_ARG_SRC) ||
        !p.attr.precomputed_reductions.empty())
        fail(zemm_unimplemented,
             "dynamic dst scales of an %s dst exclude scales and zero points of src, reductions and post-ops",
             d);
}

void check_integers(const problem &p) {
    const zemm_data_type_t s = p.src.data_type, d = p.dst.data_type;
    const quant_entry &scale = *p.scale(ZEMM_ARG_DST), *zero_point = p.zero_point(ZEMM_ARG_DST);
    if (scale.mode != zemm_quantization_mode_dynamic_fp)
        fail(zemm_unimplemented, "dst scales: quantization mode %s needs a dst of %s, not %s",
             quantization_mode_name(scale.mode), types_where(is_f8_or_f4).c_str(), data_type_name(d));
    const auto is_quantised = [](zemm_data_type_t dt) {
        return is_floating(dt) && data_type_bits(dt) <= 32 && !is_small_float(dt);
    };
    if (is_small_float(scale.data_type))
        fail(zemm_unimplemented,
             "dynamic dst scales of an s8 or u8 dst: data type %s is not implemented, %s are",
             data_type_name(scale.data_type), types_where(is_quantised).c_str());
    if (!is_int8(d) || !is_quantised(s))
        fail(zemm_unimplemented, "dynamic dst scales quantise %s to %s and floats to %s, not %s to %s",
             types_where(is_quantised).c_str(), types_where(is_int8).c_str(),
             types_where(is_f8_or_f4).c_str(), data_type_name(s), data_type_name(d));
    if (d == zemm_u8 && !zero_point)
        fail(zemm_unimplemented, "dynamic dst scales: a u8 dst needs zero points of dst (or s8 without)");
    if (d == zemm_s8 && zero_point)
        fail(zemm_unimplemented, "dynamic dst scales: an s8 dst is symmetric, zero points need a u8 dst");
    if (p.sum() || p.scale(ZEMM_ARG_SRC) || p.zero_point(ZEMM_ARG_SRC))
        fail(zemm_unimplemented, "dynamic dst scales exclude scales and zero points of src and post-ops");
    check_row_contiguous("src", p.src);
    check_row_contiguous("dst", p.dst);
    check_groups(p, scale, "dynamic dst scales");
    if (zero_point) {
        if (zero_point->mask != scale.mask || zero_point->is_on_host)
            fail(zemm_unimplemented,
                 "dst zero points of dynamic scales are outputs with the scales' mask %d, not %d on the %s",
                 scale.mask, zero_point->mask, zero_point->is_on_host ? "host" : "device");
    }
    for (const auto &[arg, e] : p.attr.precomputed_reductions) {
        if (arg != ZEMM_ARG_DST)
            fail(zemm_unimplemented, "precomputed reductions of %s: those of a reorder are of dst",
                 arg_text(arg).c_str());
        check_groups(p, e, "precomputed reductions of dst");
        const zemm_dim_t k = p.dst.dims[p.dst.ndims - 1], r = group_of(p, e), g = group_of(p, scale);
        const zemm_dim_t most = INT32_MAX / (d == zemm_u8 ? 255 : 127);
        if (r > most)
            fail(zemm_unimplemented,
                 "precomputed reductions of dst: an s32 holds sums of %lld %s values, the group is %lld",
                 (long long)most, data_type_name(d), (long long)r);
        if (r < k && g < k && r % g != 0 && g % r != 0) // else one of them has all elements
            fail(zemm_unimplemented,
                 "precomputed reductions of dst: the group %lld and the scales' group %lld do not divide one "
                 "another",
                 (long long)r, (long long)g);
    }
}

} // namespace

void check_dynamic(const problem &p) {
    if (is_f8_or_f4(p.dst.data_type))
        check_floats(p);
    else
        check_integers(p);
}

} // namespace zemm::reorder
