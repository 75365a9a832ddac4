// SPDX-License-Identifier: Apache-2.0
#include "matmul/choose/conditions.hpp"

#include <algorithm>

#include "common/error.hpp"
#include "zemm/zemm.h"

namespace zemm::matmul {

bool has(const ze::device &dev, ze::feature feature, std::string &why) {
    if (dev.features.has(feature))
        return true;
    why = text("the device does not report %s", ze::feature_name(feature));
    return false;
}

bool multiplies_integers(const facts &f, std::string &why) {
    const problem &p = f.run();
    if (p.integer())
        return true;
    why = text("it multiplies 8-bit integers, src is %s", zemm_dt2str(p.src.data_type));
    return false;
}

bool begins_at(const facts &f, zemm_dim_t unit, const char *who, std::string &why) {
    if (f.begins_at(unit))
        return true;
    if (f.run().grouped == grouping::k)
        why = text("groups of K may begin at any element, %s parts of K that begin at multiples of %lld", who,
                   (long long)unit);
    else
        why = text("%s groups of K that are multiples of %lld, the greatest common divisor here is %lld", who,
                   (long long)unit, (long long)f.segment);
    return false;
}

namespace {

// Whether the fpmath mode lets integer weights be rounded to the type that the mode names.
bool may_round_weights(const facts &f, zemm_fpmath_mode_t to) {
    const zemm_primitive_attr &attr = f.run().attr;
    return attr.fpmath_apply_to_int && (attr.fpmath_mode == to || attr.fpmath_mode == zemm_fpmath_mode_any);
}

} // namespace

bool widens(const facts &f, const char *type, zemm_dim_t most, bool rounds, std::string &why) {
    const problem &p = f.run();
    const quant_entry *zp = p.zero_point(ZEMM_ARG_WEIGHTS);
    if (!p.weight_only() || !zp)
        return true;
    if (p.has_float_zero_points() && rounds)
        return true;
    if (zp->is_on_host || (!is_int8(zp->data_type) && !is_int4(zp->data_type))) {
        why = text("weights less their zero points are %s in it, for which zero points have to be 8-bit or "
                   "4-bit tensors",
                   type);
        return false;
    }
    const value_range wei = range_of(p.wei.data_type), points = range_of(zp->data_type);
    const zemm_dim_t farthest = std::max(wei.high - points.low, points.high - wei.low);
    if (farthest <= most)
        return true;
    why = text("%s weights less %s zero points reach %lld, and %s has the integers up to %lld only",
               zemm_dt2str(p.wei.data_type), zemm_dt2str(zp->data_type), (long long)farthest, type,
               (long long)most);
    return false;
}

bool widens_to_bf16(const facts &f, bool rounds, std::string &why) {
    return widens(f, "bf16", 256, rounds && may_round_weights(f, zemm_fpmath_mode_bf16), why);
}

bool widens_to_f16(const facts &f, std::string &why) {
    return widens(f, "f16", 2048, may_round_weights(f, zemm_fpmath_mode_f16), why);
}

} // namespace zemm::matmul
