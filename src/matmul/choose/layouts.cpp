// SPDX-License-Identifier: Apache-2.0
#include "matmul/choose/layouts.hpp"

#include "common/error.hpp"
#include "matmul/choose/cpu_rules.hpp"
#include "matmul/problem/packed_weights.hpp"

namespace zemm::matmul {

namespace {

// Always, if the row cannot gather weights. Else, if the tiles make a single row along N, each
// weight is read once, and packing would only add a write and a second read. But where columns lie
// along K, a load takes one cache line for each lane: then packing pays even so.
bool is_worth_it_on_xe(const facts &f) {
    return !f.row->can_gather() || f.rows.likely > f.row->tile_m || !f.laid_out->has_near_columns;
}

// Whether plain weights are better packed first; others than packed ones have to be converted.
bool is_worth_it(const facts &f, const ze::device &dev) {
    if (f.empty || f.wei_reading != reading::elements)
        return false;
    if (f.laid_out->is_foreign)
        return true;
    return f.family.is_xe() ? is_worth_it_on_xe(f) : dev.kind == zemm_cpu && is_worth_packing(f);
}

} // namespace

layouts::layouts(const problem &p, const ze::device &dev, bool converts_packed)
    : of_problem(facts_of(p)), p_(p), dev_(dev), is_open_(p.wei.format_kind == zemm_format_kind_any),
      converts_packed_(converts_packed) {}

std::shared_ptr<const laid_out_problem> &layouts::lay_out_as(kind k) {
    std::shared_ptr<const laid_out_problem> &made = made_[k];
    if (made)
        return made;
    memory_desc wei = p_.wei;
    if (k == along_k)
        wei = weights_along_k(wei);
    else if (k == packed)
        wei = packed_weights(wei);
    else if (k == row_major)
        wei = md_row_major(wei, wei.data_type);
    else
        md_resolve_any(wei);
    made = std::make_shared<const laid_out_problem>(p_, wei, of_problem, k != given || !converts_packed_);
    return made;
}

std::shared_ptr<const laid_out_problem> layouts::wanted(const kernel_row &row) {
    if (!is_open_)
        return lay_out_as(given);
    // 2-D block loads rearrange bytes for DPAS as they read them.
    if (row.traits().loads == block_loads::two_dimensions && data_type_bits(p_.wei.data_type) == 8 &&
        lay_out_as(given)->wei_in_blocks_2d)
        return lay_out_as(given);
    // A transposing 2-D block load gives tf32 DPAS its operand from f32 weights that lie along K.
    if (row.multiplies == operands::tf32 && p_.wei.data_type == zemm_f32 &&
        lay_out_as(along_k)->wei_in_blocks_2d)
        return lay_out_as(along_k);
    return lay_out_as(wants_packed(row) ? packed : given);
}

bool layouts::wants_packed(const kernel_row &row) const {
    return row.weights == weights_layout::packed && of_problem.has_quads() && !of_problem.empty &&
           !converts_packed_;
}

std::shared_ptr<const weights_packing> layouts::packing_of(const facts &f) {
    const bool is_foreign = f.laid_out->is_foreign;
    const kind to = is_foreign && !wants_packed(*f.row) ? row_major : packed;
    std::shared_ptr<const weights_packing> &made = packings_[to == row_major                ? row_major
                                                             : f.laid_out == made_[along_k] ? along_k
                                                                                            : given];
    if (made)
        return made;
    auto result = std::make_shared<weights_packing>();
    try {
        result->packed = lay_out_as(to);
        reorder::problem move;
        move.src = f.run().wei;
        move.dst = result->packed->problem.wei;
        const auto plan = is_foreign         ? reorder::plan_any
                          : f.family.is_xe() ? reorder::plan_pack_lanes
                                             : reorder::plan_pack;
        plan(move, dev_, result->move, result->why_not);
    } catch (const error &e) { // the layout does not exist
        result->why_not = e.what();
    }
    made = result;
    return made;
}

void layouts::pack_first(facts &f) {
    if (!is_worth_it(f, dev_))
        return;
    std::shared_ptr<const weights_packing> packing = packing_of(f);
    f.why_not_packed = packing->why_not;
    if (f.family.loads == block_loads::one_dimension && f.why_not_packed.empty() &&
        md_size(packing->packed->problem.wei) >= UINT32_MAX)
        f.why_not_packed =
            "its weights would be packed first, and have more bytes than the 2^32 that it counts";
    if (f.why_not_packed.empty())
        f.packing = std::move(packing);
}

} // namespace zemm::matmul
