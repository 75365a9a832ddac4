// SPDX-License-Identifier: Apache-2.0
#include "matmul/choose/cpu_rules.hpp"

#include <algorithm>

#include "common/error.hpp"
#include "kernels/args/matmul_args.h"
#include "kernels/args/quantize_args.h"
#include "matmul/choose/arithmetic.hpp"
#include "matmul/choose/facts.hpp"
#include "primitive/launch_plan.hpp"

namespace zemm::matmul {

namespace {

// Rows from which on several segments are multiplied in a row. Weights of 8 bits with the signedness of src
// become a panel, which then has 64 KB and takes longer to make than few rows gain, unless segments are
// short.
zemm_dim_t fewest_rows_in_segments(const facts &f) {
    constexpr zemm_dim_t fewest = 24, fewest_with_panel = 96, short_segment = 32;
    const bool makes_panel = is_int8(f.run().wei.data_type) && flips_weights(f);
    return makes_panel && f.segment > short_segment ? fewest_with_panel : fewest;
}

// Whether a problem has enough rows and K for tiles of 16 rows by 64 bytes along K. With fewer, other
// rows of the list are as fast or faster.
bool fills_tiles(const facts &f, std::string &why) {
    // Splitting weights takes as long as the products of some rows. Half tiles are half as fast: they begin
    // where kept segments would, so that a layer needs one of the two kernels.
    const zemm_dim_t bytes = arithmetic_of(f).tile_bytes;
    const zemm_dim_t fewest_rows = f.splits_wei ? 32 : bytes < 64 ? fewest_rows_in_segments(f) : 16;
    const zemm_dim_t fewest_k = bytes / operand_bytes(f.row->multiplies);
    if (f.rows.likely >= fewest_rows && f.segment >= fewest_k)
        return true;
    why = text("its tiles want %lld rows and groups of %lld along K, here are %lld and %lld",
               (long long)fewest_rows, (long long)fewest_k, (long long)f.rows.likely, (long long)f.segment);
    return false;
}

// A launch takes as long as some millions of multiply-adds.
bool is_worth_a_launch(const facts &f) {
    constexpr zemm_dim_t fewest_products = 1 << 22;
    const problem &p = f.run();
    return f.rows.all * p.n() >= fewest_products / p.k();
}

// Whether splitting f16 into two bf16 beats other rows.
bool suits_splitting(const facts &f, const ze::device &dev, std::string &why) {
    const auto fits_f16 = [](zemm_data_type_t dt) { return dt != zemm_bf16 && dt != zemm_f32; };
    const problem &p = f.run();
    if (dev.has(ze::feature::amx_fp16) && fits_f16(p.src.data_type) && fits_f16(p.wei.data_type)) {
        why = "the device has tiles that multiply f16 as it is";
        return false;
    }
    if (!f.splits_src || f.empty || is_worth_a_launch(f))
        return true;
    why = "a launch that splits f16 into two bf16 pays for more products only";
    return false;
}

// bf16 rows: fewer rows of dst are limited by reading the weights, or by converting them to bf16.
zemm_dim_t fewest_rows_as_bf16(const facts &f) {
    const zemm_data_type_t wei = f.run().wei.data_type;
    const bool is_packed = f.wei_reading == reading::packed;
    if (is_small_float(wei))
        return is_packed ? 1 : MOST_ROWS_ALONG_K + 1;
    return is_packed && wei == zemm_bf16 ? 5 : 7;
}

} // namespace

// Refuses a row where another one is faster:
// - a row of AMX whose tiles are not filled;
// - a row for few rows of src where there are many, and the other way round;
// - narrow tiles that compute more than three quarters of the columns of wide ones. A narrow tile of floats
//   without a panel is kept, but for small floats and more than one row. With few rows of bytes the work of a
//   tile at each group of K counts more than its products, so wide tiles are better.
bool suits(const facts &f, const ze::device &dev, std::string &why) {
    const kernel_row &row = *f.row;
    if (row.traits().has_tiles() && !fills_tiles(f, why))
        return false;
    if ((f.splits_src || f.splits_wei) && !suits_splitting(f, dev, why))
        return false;
    const problem &p = f.run();
    const zemm_dim_t n = p.n(), rows = f.rows.likely;
    if (row.is_for_few_rows() && rows > row.tile_m) {
        why = text("it is for up to %d rows, here are %lld", row.tile_m, (long long)rows);
        return false;
    }
    // 16 vectors of sums leave no register for converting weights.
    constexpr zemm_dim_t most_widened = 2;
    if (row.family == isa_family::avx2 && row.is_for_few_rows() && p.weight_only() && rows > most_widened) {
        why = text("it is for up to %lld rows where the weights are integers, here are %lld",
                   (long long)most_widened, (long long)rows);
        return false;
    }
    if (row.traits().keeps_segments &&
        (rows < fewest_rows_in_segments(f) || (f.wei_reading != reading::packed && !f.packing))) {
        why = text("it is for packed weights and %lld rows or more", (long long)fewest_rows_in_segments(f));
        return false;
    }
    if (row.family == isa_family::avx512_bf16 && rows < fewest_rows_as_bf16(f)) {
        why = text("fewer than %lld rows are as fast in f32", (long long)fewest_rows_as_bf16(f));
        return false;
    }
    // Small floats are converted once for each group of rows. Groups of the narrow tile have 1, 2, 4, 8 or
    // 12 rows, those of the wide tile any number up to 6.
    const bool stays_narrow =
        (f.is_without_panel && row.multiplies != operands::int8 &&
         (!is_small_float(p.wei.data_type) || rows == 1)) ||
        (f.waits_for_panel() && rows <= row.rows_at_once); // blocks are longer in narrow tiles
    if (row.wide_n == 0 || stays_narrow || 4 * up(n, row.tile_n) <= 3 * up(n, row.wide_n))
        return true;
    why = text("a tile of %d columns is better", row.wide_n);
    return false;
}

// With more rows, making a panel of the weights pays. Adding up the lanes at the end of a segment of bytes
// takes about as long for two rows as making a panel of 128 elements of K.
bool multiplies_along_k(const facts &f) {
    constexpr zemm_dim_t most_rows_of_bytes = 6, a_row = 64; // elements of K
    const problem &p = f.run();
    if (!f.family.multiplies_along_k || f.empty || f.laid_out->wei_unit != UNIT_ROW ||
        f.src_unit != UNIT_COLUMN)
        return false;
    const zemm_dim_t rows = p.grouped == grouping::rows ? f.rows.likely : f.rows.all;
    if (f.row->multiplies == operands::int8)
        return f.begins_at(a_row) && f.segment % a_row == 0 && f.last_segment % a_row == 0 &&
               rows <= std::min(most_rows_of_bytes, f.segment / a_row);
    return rows <= MOST_ROWS_ALONG_K && is_floating(p.src.data_type) && is_floating(p.wei.data_type) &&
           !p.zero_point(ZEMM_ARG_WEIGHTS);
}

// More rows of bytes and plain weights hide the time in which the weights are read.
bool has_few_rows_along_n(const facts &f) {
    constexpr zemm_dim_t most_rows = 16;
    return !f.family.is_xe() && !f.family.keeps_segments && f.laid_out->wei_unit == UNIT_COLUMN &&
           f.rows.likely <= most_rows;
}

// A kernel copies plain weights into a panel once per tile. If several tiles read the same weights, packing
// them once is cheaper.
bool is_worth_packing(const facts &f) {
    constexpr zemm_dim_t fewest_tiles = 2; // tiles of full height along M
    return f.row->weights == weights_layout::packed && f.has_quads() && f.shares_weights &&
           f.rows.likely >= fewest_tiles * f.row->tile_m;
}

namespace {

// Whether tiles of AMX read src slowly from where it is: its rows begin inside of cache lines, or fall into
// the same sets of the L1 cache.
bool is_slow_for_tiles(const memory_desc &src) {
    constexpr zemm_dim_t line = 64; // bytes
    const zemm_dim_t stride = byte_of(src.data_type, src.strides[src.ndims - 2]);
    return stride % line != 0 || stride % STRIDE_OF_SETS == 0;
}

} // namespace

// Converting src takes about as long here as in the tiles of one column of tiles. A core that reads what
// others have copied gains that time back in about 1024 columns.
bool is_worth_widening(const facts &f, zemm_data_type_t wide, const ze::device &dev) {
    constexpr zemm_dim_t fewest_columns = 1024;
    const problem &p = f.run();
    const zemm_data_type_t src = p.src.data_type;
    const bool converts = is_small_float(src) || (f.family.has_tiles() && src != wide);
    const bool copies = f.family.has_tiles() && p.n() >= fewest_columns * zemm_dim_t(dev.compute_units) &&
                        is_slow_for_tiles(p.src);
    return f.splits_src || ((converts || copies) && p.n() > f.row->tile_n &&
                            md_nelems(p.src) <= most_copied_elements && is_worth_a_launch(f));
}

namespace {

// Work-groups that keep all cores busy.
zemm_dim_t enough_work_groups(const ze::device &dev) {
    constexpr zemm_dim_t for_each_core = 4, on_a_gpu = 8;
    return dev.kind == zemm_cpu ? for_each_core * zemm_dim_t(dev.compute_units) : on_a_gpu;
}

// Work-groups from which on K is not split into ranges. Products of tiles take so little time that a second
// launch pays only for cores that have no tile at all.
zemm_dim_t enough_without_ranges(const facts &f, const ze::device &dev) {
    return f.family.has_tiles() ? zemm_dim_t(dev.compute_units) : enough_work_groups(dev);
}

// Tiles along M with which cores end at about the same time: twice as many work-groups as keep them busy. No
// tile gets lower than 120 rows for that, for each makes panels of the weights.
// others: work-groups along N and of the batch.
zemm_dim_t even_tiles(zemm_dim_t rows, zemm_dim_t enough, zemm_dim_t others) {
    constexpr zemm_dim_t rows_for_panel = 120;
    return std::min(checked_ceil_div(rows, rows_for_panel, "M"),
                    checked_ceil_div(2 * enough, others, "a device"));
}

// Tiles get no lower than this before K is split into ranges.
zemm_dim_t low_tile(const facts &f) {
    return up(16, f.row->rows_at_once);
}

// Ranges of K at most, for an execution that has too few tiles; 1: K is not split for that.
// Floats round otherwise with other ranges, and a deterministic matmul gives the same bits with any number of
// threads. A problem with fewer multiply-adds is not worth a second launch: it takes one core some
// microseconds. Fewer than 16 rows count as 16, for they take no less time.
zemm_dim_t most_ranges(const facts &f) {
    constexpr zemm_dim_t fewest_products = 1 << 22, fewest_rows = 16;
    const problem &p = f.run();
    const bool is_exact = p.integer() && !f.scales_along_k;
    if (p.grouped == grouping::k || (!is_exact && p.attr.deterministic) ||
        std::max(f.rows.likely, fewest_rows) * f.matrices * p.n() < fewest_products / p.k())
        return 1;
    return p.k() / facts::shortest_range;
}

// Neighbouring tiles of a work-item at most. Only bytes, whose few rows leave vectors of sums for more
// columns.
zemm_dim_t most_abreast(const facts &f) {
    if (!f.may_be_abreast || f.row->multiplies != operands::int8 || f.family.has_tiles() ||
        f.row->rows_at_once > 8)
        return 1;
    return std::min<zemm_dim_t>(MOST_ABREAST, f.row->tile_m / f.rows.likely);
}

void check_choice(const cut_choice &chosen, const kernel_row &row) {
    if (chosen.slices != 0)
        fail(zemm_unimplemented, "%s does not cut ranges of K into slices", row.name);
    if (chosen.rows > row.tile_m)
        fail(zemm_unimplemented, "%s has tiles of at most %d rows, not %lld", row.name, row.tile_m,
             (long long)chosen.rows);
}

// As many neighbouring tiles as leave enough work-items.
int32_t tiles_abreast(const facts &f, zemm_dim_t tiles, zemm_dim_t enough) {
    const zemm_dim_t most = most_abreast(f);
    zemm_dim_t abreast = 1;
    while (2 * abreast <= most && 2 * abreast * enough <= tiles)
        abreast *= 2;
    return int32_t(abreast);
}

} // namespace

zemm_dim_t operations_of(const problem &p) {
    zemm_dim_t product = p.grouped == grouping::none ? 1 : launch_plan::most_operations;
    for (zemm_dim_t factor : {p.batch(), p.m(), p.n(), p.k()})
        if (__builtin_mul_overflow(product, std::max<zemm_dim_t>(factor, 1), &product))
            return launch_plan::most_operations;
    return product;
}

// A launch that quantises takes as long as some thousand elements of src, and longer the more cores it wakes.
// In a brief launch a thread quantises once for neighbouring tiles, else once for each tile.
bool quantizes_row(const facts &f, const cpu_cut &cut, const ze::device &dev) {
    constexpr zemm_dim_t for_each_core = 4096, most_cores = 8;
    const zemm_dim_t cores = dev.compute_units;
    const problem &p = f.run();
    if (p.quantized_from == zemm_data_type_undef || !f.family.quantizes_rows || f.empty || f.rows.all != 1 ||
        p.grouped != grouping::none || p.has_reduced_src() || f.reduction_group != f.segment)
        return false;
    // The launch that adds up ranges has no scale of src.
    if (cut.ranges > 1 && !arithmetic_of(f).src_scales_segments)
        return false;
    if (p.k() > MOST_QUANTIZED || groups_along(p.k(), f.segment) > MOST_QUANTIZED_GROUPS)
        return false;
    const zemm_dim_t on_core = checked_ceil_div(cut.along_n * cut.ranges, cores, "N");
    return launch_plan::is_brief(operations_of(p), dev.compute_units) ||
           on_core * cut.k_range <= for_each_core * std::min(cores, most_cores);
}

// Tiles of nearly equal height, and enough work-groups for every core. If there are too few tiles for that,
// they first get lower, down to 16 rows. Then K is split into ranges. If K is not split, tiles get as low as
// the policy allows. A choice replaces the height of tiles, the number of ranges, or both.
cpu_cut cut_for_cpu(const facts &f, const cut_choice &chosen, const ze::device &dev) {
    const kernel_row &row = *f.row;
    const problem &p = f.run();
    const bool by_rows = p.grouped == grouping::rows;
    const zemm_dim_t rows = f.rows.likely, k = p.k(), batch = f.matrices;
    check_choice(chosen, row);
    cpu_cut c = {};
    const zemm_dim_t enough = enough_work_groups(dev);
    c.tiles_along_n = checked_ceil_div(p.n(), zemm_dim_t(row.tile_n) * row.group_x, "N");
    c.abreast = tiles_abreast(f, c.tiles_along_n, enough);
    c.along_n = checked_ceil_div(c.tiles_along_n, c.abreast, "N");
    const zemm_dim_t others = c.along_n * batch, wanted = checked_ceil_div(enough, others, "a device");
    const zemm_dim_t fewest =
        std::max(checked_ceil_div(rows, row.tile_m, "M"), even_tiles(rows, enough, others));
    const auto tiles_of = [&](zemm_dim_t height) {
        return std::max(fewest, std::min(wanted, checked_ceil_div(rows, height, "M")));
    };
    zemm_dim_t tiles = tiles_of(low_tile(f)), ranges = most_ranges(f);
    if (ranges > 1)
        ranges =
            std::min(checked_ceil_div(enough_without_ranges(f, dev), tiles * c.along_n * batch, "K"), ranges);
    ranges = std::max(chosen.ranges != 0 ? chosen.ranges : ranges, checked_ceil_div(k, f.longest_range, "K"));
    c.k_range = f.k_range(ranges);
    c.ranges = checked_ceil_div(k, c.k_range, "K");
    if (chosen.ranges != 0 && chosen.ranges != c.ranges)
        fail(zemm_unimplemented, "K of %lld has %lld ranges for %s, not %lld", (long long)k,
             (long long)c.ranges, row.name, (long long)chosen.ranges);
    if (c.ranges == 1)
        tiles = tiles_of(row.rows_at_once);
    c.tile_rows = int32_t(chosen.rows != 0 ? chosen.rows : checked_ceil_div(rows, tiles, "M"));
    if (f.family.has_tiles()) // it multiplies whole groups of rows, so that only the last may be cut
        c.tile_rows = int32_t(up(c.tile_rows, row.rows_at_once));
    c.along_m = by_rows ? 1 : checked_ceil_div(rows, c.tile_rows, "M");
    c.strip = int32_t(strip_of(chosen, 1, c.along_m, row));
    if (c.ranges == 1)
        return c;
    const zemm_dim_t adding_rows = checked_ceil_div(rows, std::min(rows, wanted), "M");
    c.adding_rows = int32_t(std::min<zemm_dim_t>(adding_rows, row.tile_m)); // a tile holds no more
    c.adding_along_m = by_rows ? 1 : checked_ceil_div(rows, c.adding_rows, "M");
    return c;
}

} // namespace zemm::matmul
