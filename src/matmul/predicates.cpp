// SPDX-License-Identifier: Apache-2.0
#include "matmul/predicates.hpp"

#include "common/error.hpp"
#include "common/quant_md.hpp"
#include "matmul/pack_first.hpp"
#include "matmul/packing.hpp"
#include "matmul/plan_xe.hpp"
#include "zemm/zemm.h"

namespace zemm::matmul {

namespace {

bool has(const ze::device &dev, ze::feature feature, std::string &why) {
    if (dev.features.has(feature))
        return true;
    why = text("the device does not report %s", ze::feature_name(feature));
    return false;
}

bool is_integer(const problem &p, std::string &why) {
    if (p.integer())
        return true;
    why = text("it multiplies 8-bit integers, src is %s", zemm_dt2str(p.src.data_type));
    return false;
}

// Why, of a row that needs groups of K of whole units.
std::string unit_of_groups(const problem &p, zemm_dim_t unit) {
    return text("it needs groups of K that are multiples of %lld, the greatest common divisor here is %lld",
                (long long)unit, (long long)k_segment(p));
}

bool reads_weights(const problem &p, std::string &why) {
    if (!is_packed(p.wei) || segments_are_quads(p))
        return true;
    why = text(
        "packed weights need groups of K that are multiples of 4, the greatest common divisor here is %lld",
        (long long)k_segment(p));
    return false;
}

// They count elements of parameters in 32 bits.
bool parameters_are_small(const problem &p, std::string &why) {
    constexpr size_t limit = size_t(1) << 31; // bytes; an element may have four bits
    const auto is_small = [&](const quant_entry *entry, const memory_desc &of) {
        return !entry || entry->is_on_host || md_size(md_of_quant(of, *entry)) <= limit;
    };
    if (!p.empty() &&
        (!is_small(p.scale(ZEMM_ARG_SRC), p.src) || !is_small(p.scale(ZEMM_ARG_WEIGHTS), p.wei) ||
         !is_small(p.zero_point(ZEMM_ARG_SRC), p.src) || !is_small(p.zero_point(ZEMM_ARG_WEIGHTS), p.wei) ||
         p.batch() * p.m() * (p.k() / k_segment(p)) > zemm_dim_t(limit / sizeof(int32_t)))) {
        why = "it counts bytes of scales, of zero points and of sums of src up to 2^31";
        return false;
    }
    return true;
}

// What all rows where a sub-group owns a tile have in common; unit: elements of K that it multiplies at once.
bool takes_steps(const problem &p, zemm_dim_t unit, std::string &why) {
    constexpr zemm_dim_t limit = 1 << 30; // 2-D block loads and loops over K count in 32 bits
    if (p.k() > limit || p.n() > limit || p.batch() * p.m() > limit) {
        why = "it counts rows, columns and K up to 2^30";
        return false;
    }
    if (!parameters_are_small(p, why))
        return false;
    if (p.empty() || k_segment(p) % unit == 0 || k_segment(p) == p.k())
        return true;
    why = unit_of_groups(p, unit);
    return false;
}

bool has_dpas(const problem &p, const ze::device &dev, ze::feature loads, zemm_dim_t unit, std::string &why) {
    return has(dev, ze::feature::xmx, why) && has(dev, loads, why) && takes_steps(p, unit, why);
}

// Whether a GPU's registers hold what a tile needs: its sums, where segments are scaled those of eight rows
// of a column that are not yet, a panel of weights and eight rows of src.
bool has_registers(const problem &p, const kernel_row &row, std::string &why) {
    if (row.work_items == 1)
        return true;
    const bool scaled = scales_along_k(p), small = row.lanes == 8; // registers of 32 bytes
    // Addresses, parameters of rows and columns, what is under way.
    const bool few = row.multiplies == operands::dp4a_int8 || row.multiplies == operands::fma;
    const bool two_zero_points =
        small && !scaled && p.zero_point(ZEMM_ARG_SRC) && p.zero_point(ZEMM_ARG_WEIGHTS);
    const int others = few ? 32 : scaled && p.integer() ? 64 : two_zero_points ? 72 : small ? 48 : 56;
    const bool narrows = row.multiplies == operands::dpas_half && p.src.data_type == zemm_f32;
    const int taken = row.multiplies == operands::fma ? 4 : data_type_bits(p.src.data_type) / 8;
    const int bytes = narrows ? 2 : taken, on_the_way = narrows && !p.weight_only() ? 8 : 0;
    const int unscaled = !scaled ? 0 : few ? row.tile_n : 8;
    const int sums = row.tile_m * row.tile_n / row.lanes + unscaled;
    const bool nibbles = small && !few && p.integer() && is_int4(p.wei.data_type);
    const bool splits = splits_f32(p, row); // of f32 weights, too, but half a panel
    const int src_parts = splits && p.weight_only() ? 2 : 1;
    const int panel = scaled || p.empty() || !p.integer() ? row.tile_k : xe_panel_k(p, row);
    const int operands =
        (row.tile_n * bytes / (nibbles ? 2 : 1) + 8 * bytes * src_parts) * panel / (4 * row.lanes) +
        (nibbles ? 16 : 0);
    if (sums + operands + on_the_way + others <= row.grf)
        return true;
    why = scaled    ? "sums that are scaled along K do not fit into its registers"
          : narrows ? "f32 that becomes bf16 does not fit into its registers, too"
                    : "what zero points of both src and weights need does not fit into its registers";
    return false;
}

// Block loads in one dimension count bytes in 32 bits.
bool counts_bytes(const problem &p, const kernel_row &row, std::string &why) {
    const auto end_of = [](const memory_desc &md) {
        return md_size(md) + size_t(md.offset0) * size_t(data_type_bits(md.data_type)) / 8;
    };
    if (row.work_items == 1 || !loads_1d(row) || p.empty() ||
        (end_of(p.src) < UINT32_MAX && end_of(p.wei) < UINT32_MAX))
        return true;
    why = "it counts bytes of src and of the weights up to 2^32";
    return false;
}

// Whether a sub-group has as many lanes as the device's DPAS; the CPU device has both kinds.
bool has_lanes(const kernel_row &row, const ze::device &dev, std::string &why) {
    if (row.work_items == 1 || dev.kind == zemm_cpu || dev.model.sub_group == 0 ||
        int(dev.model.sub_group) == row.lanes)
        return true;
    why = text("it is for sub-groups of %d, the device has those of %u", row.lanes, dev.model.sub_group);
    return false;
}

// Whether the device's threads have as many registers.
bool has_threads(const kernel_row &row, const ze::device &dev, std::string &why) {
    if (row.work_items == 1 || dev.kind == zemm_cpu || dev.model.grf_bytes == 0 ||
        dev.model.threads(row.grf) != 0)
        return true;
    why = text("it is for threads with %d registers, which the device has not", row.grf);
    return false;
}

// Reading element by element is for the smallest tile: others have no registers for that, and have plain
// weights packed first.
bool reads_blocks(const problem &p, const kernel_row &row, const ze::device &dev, std::string &why) {
    if (row.work_items == 1 || gathers(row) || p.empty())
        return true;
    if (row.multiplies == operands::fma && p.k() % row.tile_k != 0) {
        why = text("it has no registers for a part of a block of K: K is %lld, no multiple of %d",
                   (long long)p.k(), row.tile_k);
        return false;
    }
    if (loads_1d(row) ? !reads_src_1d(p) : !reads_src_2d(p)) {
        why = loads_1d(row)
                  ? "block loads cannot read src: they want stride 1 along K, and rows that begin and end at "
                    "multiples of 4 bytes"
                  : "2-D block loads cannot read src: they want stride 1 along K, rows of at least 64 bytes "
                    "in fours, and 16 bytes times a whole number from row to row";
        return false;
    }
    return !gathers_weights(p, row) || pack_for_xe(p, row, dev, why);
}

// Whether integer weights less their zero points are values of the type that is multiplied.
bool widens_exactly(const problem &p, const char *type, std::string &why) {
    const quant_entry *zp = p.zero_point(ZEMM_ARG_WEIGHTS);
    if (!p.weight_only() || !zp || (!zp->is_on_host && (is_int8(zp->data_type) || is_int4(zp->data_type))))
        return true;
    why = text("weights less their zero points are %s in it, for which zero points have to be 8-bit or 4-bit "
               "tensors",
               type);
    return false;
}

} // namespace

bool takes_float(const problem &p, const ze::device &dev, ze::feature feature, std::string &why) {
    return has(dev, feature, why) && reads_weights(p, why);
}

bool takes_int8(const problem &p, const ze::device &dev, ze::feature feature, std::string &why) {
    if (!has(dev, feature, why) || !is_integer(p, why))
        return false;
    if (p.src.strides[p.ndims() - 1] != 1 && !p.empty()) {
        why = text("it reads four neighbours of src along K, whose stride is %lld",
                   (long long)p.src.strides[p.ndims() - 1]);
        return false;
    }
    if (!segments_are_quads(p)) {
        why = unit_of_groups(p, 4);
        return false;
    }
    return true;
}

bool takes_dpas_int8(const problem &p, const ze::device &dev, ze::feature loads, std::string &why) {
    return is_integer(p, why) && has_dpas(p, dev, loads, 32, why);
}

bool takes_dp4a_int8(const problem &p, const ze::device &dev, ze::feature isa, std::string &why) {
    if (!has(dev, isa, why))
        return false;
    if (dev.kind == zemm_gpu && dev.features.has(ze::feature::xmx)) {
        why = "the device has XMX, whose rows multiply faster";
        return false;
    }
    return is_integer(p, why) && takes_steps(p, 32, why);
}

bool takes_dp4a_scaled(const problem &p, const ze::device &dev, ze::feature isa, std::string &why) {
    if (!takes_dp4a_int8(p, dev, isa, why) || scales_along_k(p))
        return why.empty();
    why = "its tile is for scales along K";
    return false;
}

bool takes_dpas_half(const problem &p, const ze::device &dev, ze::feature loads, std::string &why) {
    const zemm_data_type_t src = p.src.data_type, wei = p.wei.data_type;
    const bool wide = loads == ze::feature::block_2d; // there f32 becomes tf32
    if (src == zemm_f32 && (wei == zemm_f32 || p.weight_only()) && !wide) {
        if (p.attr.fpmath_mode != zemm_fpmath_mode_strict)
            return widens_exactly(p, "bf16", why) && has_dpas(p, dev, loads, p.weight_only() ? 32 : 16, why);
        why = "it multiplies f32 as bf16 or sums of two, which the fpmath mode strict does not allow; "
              "tf32, bf16, f16 and any do";
        return false;
    }
    if ((src != zemm_f16 && src != zemm_bf16) || (src != wei && !p.weight_only())) {
        why = text("it multiplies f16 by f16 or integers, bf16 by bf16 or integers%s, not %s by %s",
                   wide ? "" : ", f32 by f32 or integers", zemm_dt2str(src), zemm_dt2str(wei));
        return false;
    }
    return widens_exactly(p, zemm_dt2str(src), why) &&
           has_dpas(p, dev, loads, p.weight_only() ? 32 : 16, why);
}

bool takes_dpas_widened(const problem &p, const ze::device &dev, ze::feature loads, std::string &why) {
    if (p.weight_only())
        return takes_dpas_half(p, dev, loads, why);
    why = "its tile is for floats with integer weights";
    return false;
}

bool takes_dpas_tf32(const problem &p, const ze::device &dev, ze::feature loads, std::string &why) {
    if (p.src.data_type != zemm_f32 || (p.wei.data_type != zemm_f32 && !p.weight_only())) {
        why = text("it multiplies f32 by f32 or integers, not %s by %s", zemm_dt2str(p.src.data_type),
                   zemm_dt2str(p.wei.data_type));
        return false;
    }
    if (p.attr.fpmath_mode == zemm_fpmath_mode_strict) {
        why = "it multiplies f32 as tf32, which the fpmath mode strict does not allow; tf32, bf16, f16 and "
              "any do";
        return false;
    }
    return has(dev, ze::feature::tf32, why) && widens_exactly(p, "tf32", why) &&
           has_dpas(p, dev, loads, p.weight_only() ? 32 : 8, why);
}

bool fma_in_sub_groups(const problem &p, const ze::device &dev, std::string &why) {
    if (p.integer()) {
        why = text("it multiplies floats, src is %s", zemm_dt2str(p.src.data_type));
        return false;
    }
    const auto is_read = [](zemm_data_type_t dt) {
        return dt == zemm_f32 || dt == zemm_f16 || dt == zemm_bf16;
    };
    if (!is_read(p.src.data_type) || (!is_read(p.wei.data_type) && !p.weight_only())) {
        why = text("it reads f32, f16, bf16 and integer weights, not %s by %s", zemm_dt2str(p.src.data_type),
                   zemm_dt2str(p.wei.data_type));
        return false;
    }
    if (dev.kind == zemm_gpu && dev.model.grf_bytes == 0) {
        why = "the device is not in the table of GPUs, which says what registers it has";
        return false;
    }
    return takes_steps(p, 16, why);
}

bool on_any(const problem &p, const ze::device &, std::string &why) {
    if (!is_packed(p.wei))
        return true;
    why = text("it reads plain weights, not the layout %s", tag_text(p.wei).c_str());
    return false;
}

bool on_cpu(const problem &p, const ze::device &dev, std::string &why) {
    if (dev.kind == zemm_cpu)
        return on_any(p, dev, why);
    why = "its tile is made for the caches of a CPU";
    return false;
}

bool fits_sub_group(const problem &p, const kernel_row &row, const ze::device &dev, std::string &why) {
    return has_lanes(row, dev, why) && has_threads(row, dev, why) && counts_bytes(p, row, why) &&
           has_registers(p, row, why) && reads_blocks(p, row, dev, why);
}

} // namespace zemm::matmul
