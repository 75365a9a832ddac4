// SPDX-License-Identifier: Apache-2.0
// The predicates of rows for Intel GPUs.
#include <algorithm>

#include "common/attr.hpp"
#include "common/error.hpp"
#include "common/names.hpp"
#include "matmul/choose/predicates.hpp"
#include "zemm/zemm.h"

namespace zemm::matmul {

namespace {

// Kernels of sub-groups index scales, zero points and sums of src with 32 bits.
bool parameters_are_small(const facts &f, std::string &why) {
    constexpr size_t limit = size_t(1) << 31; // bytes
    const problem &p = f.run();
    const auto is_small = [&](const quant_entry *entry, const memory_desc &of) {
        if (!entry || entry->is_on_host)
            return true;
        const size_t elements = size_t(bytes_of(entry->data_type, zemm_dim_t(1) << 32));
        return md_size(md_of_quant(of, *entry)) <= std::min(limit, elements);
    };
    if (!f.empty &&
        (!is_small(p.scale(ZEMM_ARG_SRC), p.src) || !is_small(p.scale(ZEMM_ARG_WEIGHTS), p.wei) ||
         !is_small(p.zero_point(ZEMM_ARG_SRC), p.src) || !is_small(p.zero_point(ZEMM_ARG_WEIGHTS), p.wei) ||
         !is_small(p.scale_factor(), p.wei) || !is_small(p.offset_factor(), p.wei) ||
         f.rows.all * groups_along(p.k(), f.segment) > zemm_dim_t(limit / sizeof(int32_t)))) {
        why = "it counts bytes of scales, of zero points and of sums of src up to 2^31, their elements up to "
              "2^32";
        return false;
    }
    return true;
}

// Requirements of all rows where a sub-group owns a tile.
bool takes_steps(const facts &f, std::string &why) {
    constexpr zemm_dim_t limit = 1 << 30; // 2-D block loads and loops over K count in 32 bits
    const problem &p = f.run();
    if (p.grouped == grouping::k) {
        why = "groups of K may begin at any element, it begins at multiples of its steps";
        return false;
    }
    if (p.grouped == grouping::rows && f.longest_range < p.k()) {
        why = text("it does not cut K of a matmul with groups of rows, and an s32 holds sums of %lld only",
                   (long long)f.longest_range);
        return false;
    }
    if (p.k() > limit || p.n() > limit || f.rows.all > limit) {
        why = "it counts rows, columns and K up to 2^30";
        return false;
    }
    if (!parameters_are_small(f, why))
        return false;
    return f.empty || begins_at(f, f.step, "it needs", why);
}

bool has_dpas(const facts &f, const ze::device &dev, ze::feature loads, std::string &why) {
    return has(dev, ze::feature::xmx, why) && has(dev, loads, why) && takes_steps(f, why);
}

bool has_registers(const facts &f, std::string &why) {
    if (f.registers <= f.row->grf)
        return true;
    why = f.scales_along_k ? "sums that are scaled along K do not fit into its registers"
          : f.narrows_f32  ? "f32 that becomes bf16 does not fit into its registers, too"
                           : "what zero points of both src and weights need does not fit into its registers";
    return false;
}

// 1-D block loads take byte offsets of 32 bits.
bool counts_bytes(const facts &f, std::string &why) {
    const auto end_of = [](const memory_desc &md) {
        return md_size(md) + size_t(byte_of(md.data_type, md.offset0));
    };
    if (f.family.loads != block_loads::one_dimension || f.empty ||
        (end_of(f.run().src) < UINT32_MAX && end_of(f.run().wei) < UINT32_MAX))
        return true;
    why = "it counts bytes of src and of the weights up to 2^32";
    return false;
}

// Whether the row has the sub-group size of the device's DPAS. The CPU device runs both sizes.
bool has_lanes(const facts &f, const ze::device &dev, std::string &why) {
    if (dev.kind == zemm_cpu || dev.model.sub_group == 0 || int(dev.model.sub_group) == f.family.sub_group)
        return true;
    why = text("it is for sub-groups of %d, the device has those of %u", f.family.sub_group,
               dev.model.sub_group);
    return false;
}

// Whether the device has threads with as many registers as the row wants.
bool has_threads(const facts &f, const ze::device &dev, std::string &why) {
    if (dev.kind == zemm_cpu || dev.model.grf_bytes == 0 || dev.model.threads(f.row->grf) != 0)
        return true;
    why = text("it is for threads with %d registers, which the device has not", f.row->grf);
    return false;
}

// Lanes store elements on their own, and two elements of 4 bits share a byte.
bool stores_dst(const facts &f, std::string &why) {
    const zemm_data_type_t dst = f.run().dst.data_type;
    if (data_type_bits(dst) >= 8)
        return true;
    why = text("it does not store %s, of which two elements share a byte", data_type_name(dst));
    return false;
}

// Only the smallest tile has registers for reading element by element. Others need block loads of
// src, and plain weights that block loads can read or that are packed first.
bool reads_blocks(const facts &f, std::string &why) {
    const zemm_dim_t k = f.run().k();
    if (f.row->can_gather() || f.empty)
        return true;
    if (f.family.multiplies_by == multiplier::fma && k % f.row->tile_k != 0) {
        why = text("it has no registers for a part of a block of K: K is %lld, no multiple of %d",
                   (long long)k, f.row->tile_k);
        return false;
    }
    if (f.src_reading == reading::elements) {
        why = f.family.loads == block_loads::one_dimension
                  ? "block loads cannot read src: they want stride 1 along K, and rows that begin and end at "
                    "multiples of 4 bytes"
                  : "2-D block loads cannot read src: they want stride 1 along K, rows of at least 64 bytes "
                    "in fours, and 16 bytes times a whole number from row to row";
        return false;
    }
    if (!f.gathers_weights() || f.packing)
        return true;
    why = f.why_not_packed;
    return false;
}

// Conditions of rows that convert f8 and f4 weights, which subtract no zero points from them.
bool multiplies_small_floats(const facts &f, std::string &why) {
    const problem &p = f.run();
    if (p.zero_point(ZEMM_ARG_WEIGHTS) && !p.weight_only()) {
        why = text("it has no zero points of %s weights", data_type_name(p.wei.data_type));
        return false;
    }
    if (f.arranged && f.src_reading == reading::elements) {
        why = text("src becomes %s in rows that block loads read, which have at most 2^23 elements",
                   data_type_name(p.src.data_type));
        return false;
    }
    return true;
}

} // namespace

bool takes_dpas_int8(const facts &f, const ze::device &dev, ze::feature loads, std::string &why) {
    return multiplies_integers(f, why) && has_dpas(f, dev, loads, why);
}

bool takes_dp4a_int8(const facts &f, const ze::device &dev, ze::feature isa, std::string &why) {
    if (!has(dev, isa, why))
        return false;
    if (dev.kind == zemm_gpu && dev.features.has(ze::feature::xmx)) {
        why = "the device has XMX, whose rows multiply faster";
        return false;
    }
    return multiplies_integers(f, why) && takes_steps(f, why);
}

bool takes_dp4a_scaled(const facts &f, const ze::device &dev, ze::feature isa, std::string &why) {
    if (!takes_dp4a_int8(f, dev, isa, why) || f.scales_along_k)
        return why.empty();
    why = "its tile is for scales along K";
    return false;
}

bool takes_dpas_half(const facts &f, const ze::device &dev, ze::feature loads, std::string &why) {
    const problem &p = f.run();
    const zemm_data_type_t src = p.src.data_type, wei = p.wei.data_type;
    const bool wide = f.family.loads == block_loads::two_dimensions; // multiplies f32 as tf32
    if (src == zemm_f32 && (wei == zemm_f32 || p.weight_only()) && !wide) {
        if (p.attr.fpmath_mode.mode != zemm_fpmath_mode_strict)
            return widens_to_bf16(f, false, why) && has_dpas(f, dev, loads, why);
        why = "it multiplies f32 as bf16 or sums of two, which the fpmath mode strict does not allow; "
              "tf32, bf16, f16 and any do";
        return false;
    }
    if ((src != zemm_f16 && src != zemm_bf16) || (src != wei && !f.converts_weights())) {
        why = text("it multiplies f16 or bf16 by the same type, f8, f4 or integers%s, not %s by %s",
                   wide ? "" : ", f32 by f32 or integers", data_type_name(src), data_type_name(wei));
        return false;
    }
    const bool fits = src == zemm_f16 ? widens_to_f16(f, why) : widens_to_bf16(f, false, why);
    return fits && multiplies_small_floats(f, why) && has_dpas(f, dev, loads, why);
}

bool takes_dpas_widened(const facts &f, const ze::device &dev, ze::feature loads, std::string &why) {
    if (f.converts_weights())
        return takes_dpas_half(f, dev, loads, why);
    why = "its tile is for integer weights, f8 and f4, which become the type of src";
    return false;
}

bool takes_dpas_tf32(const facts &f, const ze::device &dev, ze::feature loads, std::string &why) {
    const problem &p = f.run();
    if (p.src.data_type != zemm_f32 || (p.wei.data_type != zemm_f32 && !p.weight_only())) {
        why = text("it multiplies f32 by f32 or integers, not %s by %s", data_type_name(p.src.data_type),
                   data_type_name(p.wei.data_type));
        return false;
    }
    if (p.attr.fpmath_mode.mode == zemm_fpmath_mode_strict) {
        why = "it multiplies f32 as tf32, which the fpmath mode strict does not allow; tf32, bf16, f16 and "
              "any do";
        return false;
    }
    return has(dev, ze::feature::tf32, why) && widens(f, "tf32", 2048, false, why) &&
           has_dpas(f, dev, loads, why);
}

bool fma_in_sub_groups(const facts &f, const ze::device &dev, std::string &why) {
    const problem &p = f.run();
    if (p.integer()) {
        why = text("it multiplies floats, src is %s", data_type_name(p.src.data_type));
        return false;
    }
    const auto is_read = [](zemm_data_type_t dt) {
        return dt == zemm_f32 || dt == zemm_f16 || dt == zemm_bf16;
    };
    if (!is_read(p.src.data_type) ||
        (!is_read(p.wei.data_type) && !is_small_float(p.wei.data_type) && !p.weight_only())) {
        why = text("it reads f32, f16, bf16, f8, f4 and integer weights, not %s by %s",
                   data_type_name(p.src.data_type), data_type_name(p.wei.data_type));
        return false;
    }
    if (dev.kind == zemm_gpu && dev.model.grf_bytes == 0) {
        why = "the device is not in the table of GPUs, which says what registers it has";
        return false;
    }
    return takes_steps(f, why);
}

bool fits_sub_group(const facts &f, const ze::device &dev, std::string &why) {
    return !f.family.is_xe() || (stores_dst(f, why) && has_lanes(f, dev, why) && has_threads(f, dev, why) &&
                                 counts_bytes(f, why) && has_registers(f, why) && reads_blocks(f, why));
}

} // namespace zemm::matmul
