// SPDX-License-Identifier: Apache-2.0
#include "experts/primitive_desc.hpp"

#include <algorithm>
#include <utility>

#include "common/error.hpp"
#include "common/names.hpp"
#include "kernels/args/experts_args.h"
#include "primitive/internal_desc.hpp"
#include "reorder/launches.hpp"
#include "reorder/plan.hpp"

namespace zemm::experts {

namespace {

constexpr const char *entries[] = {"experts_gather", "experts_gate", "experts_combine"};
constexpr const char *name = "a step of experts";
constexpr zemm_dim_t worth = 8192;  // elements that make a work-item worth its launch
constexpr zemm_dim_t gate_cost = 8; // operations of an element, beside 1 of the other steps
constexpr zemm_dim_t quantise_cost = 4;

bool quantises(const zemm_experts_t &s) {
    return s.is_quantised && s.step != zemm_experts_combine;
}

void check_groups(const zemm_experts_t &s) {
    for (const auto &[what, value] : {std::pair{"group", s.group}, {"sums_group", s.sums_group}})
        if (value < 1 || value > INT32_MAX)
            fail(zemm_invalid_arguments, "%s is %lld, not from 1 to 2^31 - 1", what, (long long)value);
    const auto [less, more] = std::minmax({s.group, s.sums_group});
    if (quantises(s) && more % less != 0 && more < s.width)
        fail(zemm_invalid_arguments, "group is %lld and sums_group %lld: neither divides the other",
             (long long)s.group, (long long)s.sums_group);
    if (s.step == zemm_experts_gather && !s.has_columns && s.src_type != s.dst_type)
        fail(zemm_invalid_arguments, "a step that quantises %s takes rows of %s", data_type_name(s.src_type),
             data_type_name(s.dst_type));
}

void check(const zemm_experts_t &s) {
    if (int(s.step) < zemm_experts_gather || int(s.step) > zemm_experts_combine)
        fail(zemm_invalid_arguments, "step is %d, none of zemm_experts_step_t", int(s.step));
    for (const auto &[what, value] :
         {std::pair{"tokens", s.tokens}, {"top_k", s.top_k}, {"experts", s.experts}, {"width", s.width}})
        if (value < 1 || value > INT32_MAX)
            fail(zemm_invalid_arguments, "%s is %lld, not from 1 to 2^31 - 1", what, (long long)value);
    if (s.tokens * s.top_k > INT32_MAX - s.experts)
        fail(zemm_invalid_arguments, "%lld tokens with %lld experts each are too many rows",
             (long long)s.tokens, (long long)s.top_k);
    for (const zemm_data_type_t dt : {s.src_type, s.dst_type, s.weights_type})
        if (dt != zemm_f32 && dt != zemm_f16 && dt != zemm_bf16)
            fail(zemm_invalid_arguments, "a step has data type %s, not f32, f16 or bf16", data_type_name(dt));
    if (s.is_quantised)
        check_groups(s);
    if (s.activation < 0 || s.activation >= kernels::GATE_COUNT)
        fail(zemm_invalid_arguments, "activation is %d, not from 0 to %d", s.activation,
             kernels::GATE_COUNT - 1);
}

// Groups of a row.
zemm_dim_t groups_of(const zemm_experts_t &s, zemm_dim_t group) {
    return (s.width + group - 1) / group;
}

argument_map arguments_of(const zemm_experts_t &s) {
    const zemm_dim_t rows = s.tokens * s.top_k;
    const bool gathers = s.step == zemm_experts_gather, gates = s.step == zemm_experts_gate;
    const zemm_dim_t src_width = gates && s.is_gated ? 2 * s.width : s.width;
    argument_map map;
    map[ZEMM_ARG_SRC] = {.md = dense({gathers ? s.tokens : rows, src_width}, s.src_type)};
    const zemm_data_type_t dst_type = quantises(s) ? zemm_s8 : s.dst_type;
    map[ZEMM_ARG_DST] = {.md = dense({gathers || gates ? rows : s.tokens, s.width}, dst_type)};
    if (quantises(s)) {
        map[ZEMM_ARG_ATTR_SCALES | ZEMM_ARG_DST] = {.md = dense({rows, groups_of(s, s.group)}, zemm_f32)};
        map[ZEMM_ARG_ATTR_PRECOMPUTED_REDUCTIONS | ZEMM_ARG_DST] = {
            .md = dense({rows, groups_of(s, s.sums_group)}, zemm_s32)};
    }
    if (!gates || s.has_columns) {
        const zemm_data_type_t type = gathers || gates ? zemm_s64 : s.weights_type;
        map[ZEMM_ARG_SRC_1] = {.md = dense({s.tokens, s.top_k}, type)};
        map[ZEMM_ARG_SRC_2] = {.md = dense({s.experts + rows}, zemm_s32)};
    }
    if (s.has_columns)
        map[ZEMM_ARG_SRC_3] = {.md = dense({s.experts, s.width}, zemm_s64)};
    return map;
}

// The struct of the kernel, without addresses.
kernels::experts_arguments fixed_of(const zemm_experts_t &s) {
    kernels::experts_arguments a = {};
    a.takes_tokens = s.step == zemm_experts_gather && quantises(s) && !s.has_columns;
    a.count = a.takes_tokens || s.step == zemm_experts_combine ? s.tokens : s.tokens * s.top_k;
    const zemm_dim_t cost = s.width * (quantises(s) ? quantise_cost : 1);
    a.per_item = (worth + cost - 1) / cost;
    if (s.is_quantised) {
        a.group = s.group;
        a.sums_group = s.sums_group;
        a.groups = groups_of(s, s.group);
        a.sums_groups = groups_of(s, s.sums_group);
    }
    a.top_k = s.top_k;
    a.experts = s.experts;
    a.width = s.width;
    a.src_type = s.src_type;
    a.dst_type = s.dst_type;
    a.weights_type = s.weights_type;
    a.activation = s.activation;
    a.is_gated = s.is_gated;
    a.is_interleaved = s.is_interleaved;
    a.alpha = s.alpha;
    a.gate_most = s.gate_most;
    a.up_most = s.up_most;
    a.up_shift = s.up_shift;
    return a;
}

// Of the module. Steps that quantise nothing have none.
std::vector<ze::spec_constant> constants_of(const zemm_experts_t &s) {
    if (!s.is_quantised)
        return {};
    const uint32_t flags = QUANTIZE_REDUCTIONS | (s.has_reduced_range ? QUANTIZE_REDUCED_RANGE : 0);
    return reorder::quantize_constants(s.dst_type, flags, zemm_f32, s.group, s.sums_group);
}

class primitive_desc : public internal_desc {
public:
    primitive_desc(zemm_engine_t e, const zemm_experts_t &s)
        : internal_desc(e, reorder::copy_launch), step_(s) {
        arguments = arguments_of(s);
        if (quantises(s)) {
            const kernels::experts_arguments a = fixed_of(s);
            scratchpad_size = work_groups(a.count, a.per_item, name) * size_t(s.width) *
                              size_t(data_type_bits(s.dst_type) / 8);
        }
    }

    const char *impl_name() const override { return entries[step_.step]; }
    std::unique_ptr<zemm_primitive_desc> clone() const override {
        return std::make_unique<primitive_desc>(*this);
    }
    std::string key_text() const override {
        const kernels::experts_arguments a = fixed_of(step_);
        return std::string(reinterpret_cast<const char *>(&a), sizeof a) + (step_.has_columns ? "+" : "") +
               (step_.is_quantised ? "s8" : "") + (step_.has_reduced_range ? "-" : "");
    }
    std::string log_text() const override {
        return text("%s,experts,%s,undef,src:%s dst:%s,,,%lldx%lldx%lld", engine_kind_name(engine->kind),
                    impl_name(), data_type_name(step_.src_type), data_type_name(step_.dst_type),
                    (long long)step_.tokens, (long long)step_.top_k, (long long)step_.width);
    }

private:
    sequence launches() const override {
        values_of<kernels::experts_arguments> values;
        auto &v = values.fixed = fixed_of(step_);
        values.set(v.src, address_of(ZEMM_ARG_SRC));
        values.set(v.dst, address_of(ZEMM_ARG_DST));
        values.set(step_.step == zemm_experts_combine ? v.weights : v.index, address_of(ZEMM_ARG_SRC_1));
        values.set(v.routes, address_of(ZEMM_ARG_SRC_2));
        if (step_.has_columns)
            values.set(v.columns, address_of(ZEMM_ARG_SRC_3));
        if (quantises(step_)) {
            values.set(v.scales, address_of(ZEMM_ARG_ATTR_SCALES | ZEMM_ARG_DST));
            values.set(v.sums, address_of(ZEMM_ARG_ATTR_PRECOMPUTED_REDUCTIONS | ZEMM_ARG_DST));
            values.set(v.rows, in_scratchpad(0));
        }
        launch main;
        main.operands = {first_values};
        main.values = {values.made()};
        main.plan.kernel = "experts";
        main.plan.entry = entries[step_.step];
        main.plan.group_count = {work_groups(v.count, v.per_item, name), 1, 1};
        main.plan.constants = constants_of(step_);
        main.plan.operations = step_.tokens * step_.top_k * step_.width;
        if (step_.step == zemm_experts_gate)
            main.plan.operations *= gate_cost;
        if (quantises(step_))
            main.plan.operations *= quantise_cost;
        launch route = main;
        route.plan.entry = "experts_route";
        route.plan.group_count = {1, 1, 1};
        sequence all;
        all.add_last(std::move(main));
        if (step_.step == zemm_experts_gather && v.count > v.per_item)
            all.add_first(std::move(route));
        return all;
    }

    const zemm_experts_t step_;
};

} // namespace

std::unique_ptr<zemm_primitive_desc> make_primitive_desc(zemm_engine_t engine, const zemm_experts_t &step) {
    check(step);
    zemm_experts_t within = step; // a row
    within.group = std::min(step.group, step.width);
    within.sums_group = std::min(step.sums_group, step.width);
    if (step.is_quantised)
        reorder::end_with_row(step.width, within.group, within.sums_group);
    return std::make_unique<primitive_desc>(engine, within);
}

} // namespace zemm::experts
