// SPDX-License-Identifier: Apache-2.0
#include "experts/primitive_desc.hpp"

#include <algorithm>
#include <utility>

#include "common/error.hpp"
#include "common/names.hpp"
#include "kernels/args/experts_args.h"
#include "primitive/internal_desc.hpp"
#include "reorder/launches.hpp"

namespace zemm::experts {

namespace {

constexpr const char *entries[] = {"experts_gather", "experts_gate", "experts_combine"};
constexpr zemm_dim_t worth = 8192;  // elements that make a work-item worth its launch
constexpr zemm_dim_t gate_cost = 8; // operations of an element, beside 1 of the other steps

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
    if (s.activation < 0 || s.activation >= kernels::GATE_COUNT)
        fail(zemm_invalid_arguments, "activation is %d, not from 0 to %d", s.activation,
             kernels::GATE_COUNT - 1);
}

argument_map arguments_of(const zemm_experts_t &s) {
    const zemm_dim_t rows = s.tokens * s.top_k;
    const bool gathers = s.step == zemm_experts_gather, gates = s.step == zemm_experts_gate;
    const zemm_dim_t src_width = gates && s.is_gated ? 2 * s.width : s.width;
    argument_map map;
    map[ZEMM_ARG_SRC] = {.md = dense({gathers ? s.tokens : rows, src_width}, s.src_type)};
    map[ZEMM_ARG_DST] = {.md = dense({gathers || gates ? rows : s.tokens, s.width}, s.dst_type)};
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
    a.count = s.step == zemm_experts_combine ? s.tokens : s.tokens * s.top_k;
    a.per_item = (worth + s.width - 1) / s.width;
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

class primitive_desc : public internal_desc {
public:
    primitive_desc(zemm_engine_t e, const zemm_experts_t &s)
        : internal_desc(e, reorder::copy_launch), step_(s) {
        arguments = arguments_of(s);
    }

    const char *impl_name() const override { return entries[step_.step]; }
    std::unique_ptr<zemm_primitive_desc> clone() const override {
        return std::make_unique<primitive_desc>(*this);
    }
    std::string key_text() const override {
        const kernels::experts_arguments a = fixed_of(step_);
        return std::string(reinterpret_cast<const char *>(&a), sizeof a) + (step_.has_columns ? "+" : "");
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
        launch main;
        main.operands = {first_values};
        main.values = {values.made()};
        main.plan.kernel = "experts";
        main.plan.entry = entries[step_.step];
        main.plan.group_count = {work_groups(v.count, v.per_item, "a step of experts"), 1, 1};
        main.plan.operations = step_.tokens * step_.top_k * step_.width;
        if (step_.step == zemm_experts_gate)
            main.plan.operations *= gate_cost;
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
    return std::make_unique<primitive_desc>(engine, step);
}

} // namespace zemm::experts
