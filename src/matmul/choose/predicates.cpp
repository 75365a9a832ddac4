// SPDX-License-Identifier: Apache-2.0
#include "matmul/choose/predicates.hpp"

#include <algorithm>

#include "common/error.hpp"
#include "common/names.hpp"
#include "matmul/choose/cpu_rules.hpp"

namespace zemm::matmul {

namespace {

bool reads_weights(const facts &f, std::string &why) {
    return f.wei_reading != reading::packed || begins_at(f, 4, "packed weights need", why);
}

bool has_packed_weights(const facts &f, std::string &why) {
    if (f.wei_reading == reading::packed)
        return true;
    why = "it reads packed weights only";
    return false;
}

bool has_neighbours(const facts &f, std::string &why) {
    const problem &p = f.run();
    if (p.src.strides[p.ndims() - 1] == 1 || f.empty)
        return true;
    why = text("it reads four neighbours of src along K, whose stride is %lld",
               (long long)p.src.strides[p.ndims() - 1]);
    return false;
}

// Requirements of rows that multiply bytes by quads.
bool reads_quads(const facts &f, std::string &why) {
    return multiplies_integers(f, why) && has_neighbours(f, why) && begins_at(f, 4, "it needs", why);
}

// f8 and f4 weights are exact in 16 bits. Less their zero points they may need more: rows of f32 take these.
bool has_no_zero_points(const facts &f, std::string &why) {
    const problem &p = f.run();
    if (p.weight_only() || !p.zero_point(ZEMM_ARG_WEIGHTS))
        return true;
    why = text("%s weights less their zero points are not exact in 16 bits", data_type_name(p.wei.data_type));
    return false;
}

// Requirements of rows that multiply bf16, and f32 as bf16. splits_f16: and f16 as the sum of two bf16.
bool multiplies_bf16(const facts &f, bool splits_f16, std::string &why) {
    const problem &p = f.run();
    const zemm_data_type_t src = p.src.data_type, wei = p.wei.data_type;
    const auto is_read = [&](zemm_data_type_t dt) {
        return dt == zemm_bf16 || is_small_float(dt) || dt == zemm_f32 || (splits_f16 && dt == zemm_f16);
    };
    if (!is_read(src) || (!is_read(wei) && !p.weight_only())) {
        why = text("it multiplies bf16, %sf8, f4 and f32 by these or integers, not %s by %s",
                   splits_f16 ? "f16, " : "", data_type_name(src), data_type_name(wei));
        return false;
    }
    if (!f.allows_bf16 && (src == zemm_f32 || wei == zemm_f32)) {
        why = "it multiplies f32 as bf16, which the fpmath mode has to allow: bf16 and any do";
        return false;
    }
    if (f.splits_src && md_nelems(p.src) > most_copied_elements) {
        why = text("it splits f16 into two bf16 first, for which src has too many elements: %lld, not %lld",
                   (long long)md_nelems(p.src), (long long)most_copied_elements);
        return false;
    }
    // Beside f16, weights less their zero points must not be rounded to fewer digits than src has.
    return has_neighbours(f, why) && has_no_zero_points(f, why) && widens_to_bf16(f, !f.splits_src, why) &&
           reads_weights(f, why);
}

bool multiplies_f16(const facts &f, std::string &why) {
    const problem &p = f.run();
    const auto is_exact = [](zemm_data_type_t dt) { return dt == zemm_f16 || is_small_float(dt); };
    if (!is_exact(p.src.data_type) || (!is_exact(p.wei.data_type) && !p.weight_only())) {
        why = text("it multiplies f16, f8 and f4 by these or integers, not %s by %s",
                   data_type_name(p.src.data_type), data_type_name(p.wei.data_type));
        return false;
    }
    return has_neighbours(f, why) && has_no_zero_points(f, why) && widens_to_f16(f, why) &&
           reads_weights(f, why);
}

// Any CPU has the tiles of AMX in software.
bool has_tiles(const ze::device &dev, std::string &why) {
    if (dev.kind == zemm_cpu)
        return true;
    why = "the device is no CPU, its tiles are those of AMX";
    return false;
}

} // namespace

bool takes_float(const facts &f, const ze::device &dev, ze::feature feature, std::string &why) {
    return has(dev, feature, why) && reads_weights(f, why);
}

bool takes_packed_float(const facts &f, const ze::device &dev, ze::feature feature, std::string &why) {
    return takes_float(f, dev, feature, why) && has_packed_weights(f, why);
}

bool takes_widened(const facts &f, const ze::device &dev, ze::feature feature, std::string &why) {
    if (!has(dev, feature, why))
        return false;
    const problem &p = f.run();
    if (p.integer() || data_type_bits(p.wei.data_type) > 8) {
        why = text("it multiplies floats by types of 8 and 4 bits, not %s by %s",
                   data_type_name(p.src.data_type), data_type_name(p.wei.data_type));
        return false;
    }
    if (!p.weight_only() && p.zero_point(ZEMM_ARG_WEIGHTS)) {
        why = text("it subtracts no zero points from %s weights", data_type_name(p.wei.data_type));
        return false;
    }
    return has_packed_weights(f, why) && reads_weights(f, why);
}

bool takes_int8(const facts &f, const ze::device &dev, ze::feature feature, std::string &why) {
    return has(dev, feature, why) && reads_quads(f, why);
}

bool takes_segments(const facts &f, const ze::device &dev, ze::feature feature, std::string &why) {
    if (!takes_int8(f, dev, feature, why))
        return false;
    const problem &p = f.run();
    const zemm_dim_t longest = f.row->tile_k;
    if (!f.scales_along_k || p.zero_point(ZEMM_ARG_SRC)) {
        why = "it takes sums that are scaled along K, and no zero points of src";
        return false;
    }
    if (f.segment > longest || f.segment % 4 != 0 || f.last_segment % 4 != 0) {
        why =
            text("it takes groups along K of up to %lld elements that are multiples of 4, here are %lld, and "
                 "%lld at the end",
                 (long long)longest, (long long)f.segment, (long long)f.last_segment);
        return false;
    }
    if (p.grouped == grouping::k) {
        why = "it takes no matmul that is grouped along K";
        return false;
    }
    return true;
}

bool takes_packed_int8(const facts &f, const ze::device &dev, ze::feature feature, std::string &why) {
    return takes_int8(f, dev, feature, why) && has_packed_weights(f, why);
}

bool in_tiles(const facts &f, const ze::device &dev, std::string &why) {
    if (!has_tiles(dev, why))
        return false;
    if (f.row->multiplies == operands::int8)
        return reads_quads(f, why);
    return f.family.half_is_f16 ? multiplies_f16(f, why) : multiplies_bf16(f, true, why);
}

bool takes_bf16(const facts &f, const ze::device &dev, ze::feature feature, std::string &why) {
    return has(dev, feature, why) && multiplies_bf16(f, false, why);
}

bool on_any(const facts &f, const ze::device &, std::string &why) {
    if (f.wei_reading != reading::packed)
        return true;
    why = text("it reads plain weights, not the layout %s", tag_text(f.run().wei).c_str());
    return false;
}

bool on_cpu(const facts &f, const ze::device &dev, std::string &why) {
    if (dev.kind == zemm_cpu)
        return on_any(f, dev, why);
    why = "its tile is made for the caches of a CPU";
    return false;
}

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
    why = text("it multiplies 8-bit integers, src is %s", data_type_name(p.src.data_type));
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
    return attr.fpmath_mode.apply_to_int &&
           (attr.fpmath_mode.mode == to || attr.fpmath_mode.mode == zemm_fpmath_mode_any);
}

} // namespace

bool widens(const facts &f, const char *type, zemm_dim_t most, bool rounds, std::string &why) {
    const problem &p = f.run();
    const quant_entry *zp = p.zero_point(ZEMM_ARG_WEIGHTS);
    if (!p.weight_only() || !zp)
        return true;
    if (p.has_float_zero_points() && rounds)
        return true;
    if (p.has_offsets()) {
        why = text("weights have offsets, with which they would have to be rounded to %s", type);
        return false;
    }
    if (zp->is_on_host || !is_narrow_int(zp->data_type)) {
        why = text("weights less their zero points are %s in it, for which zero points have to be tensors "
                   "of 8 bits or fewer",
                   type);
        return false;
    }
    const value_range wei = range_of(p.wei.data_type), points = range_of(zp->data_type);
    const zemm_dim_t farthest = std::max(wei.high - points.low, points.high - wei.low);
    if (farthest <= most)
        return true;
    why = text("%s weights less %s zero points reach %lld, and %s has the integers up to %lld only",
               data_type_name(p.wei.data_type), data_type_name(zp->data_type), (long long)farthest, type,
               (long long)most);
    return false;
}

bool widens_to_bf16(const facts &f, bool rounds, std::string &why) {
    return widens(f, "bf16", 256, rounds && may_round_weights(f, zemm_fpmath_mode_bf16), why);
}

bool widens_to_f16(const facts &f, std::string &why) {
    // An offset divided by a small scale has no place in an f16.
    return widens(f, "f16", 2048, !f.run().has_offsets() && may_round_weights(f, zemm_fpmath_mode_f16), why);
}

} // namespace zemm::matmul
