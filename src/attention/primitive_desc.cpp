// SPDX-License-Identifier: Apache-2.0
#include "attention/primitive_desc.hpp"

#include <algorithm>
#include <utility>

#include "common/error.hpp"
#include "common/names.hpp"
#include "kernels/args/attention_args.h"
#include "primitive/internal_desc.hpp"
#include "reorder/launches.hpp"

namespace zemm::attention {

namespace {

static_assert(ATTENTION_MOST_WIDTH == ZEMM_ATTENTION_MOST_WIDTH);

constexpr zemm_dim_t most_rows = 4; // that a work-item computes at once

void check(const zemm_attention_t &a) {
    if (a.type != zemm_f32 && a.type != zemm_f16 && a.type != zemm_bf16)
        fail(zemm_invalid_arguments, "attention has data type %s, not f32, f16 or bf16",
             data_type_name(a.type));
    for (const auto &[what, value] : {std::pair{"batch", a.batch},
                                      {"heads", a.heads},
                                      {"shared", a.shared},
                                      {"tokens", a.tokens},
                                      {"width", a.width}})
        if (value < 1 || value > INT32_MAX)
            fail(zemm_invalid_arguments, "%s is %lld, not from 1 to 2^31 - 1", what, (long long)value);
    if (a.width % ZEMM_ATTENTION_WIDTH_STEP || a.width > ZEMM_ATTENTION_MOST_WIDTH)
        fail(zemm_invalid_arguments, "width is %lld, not a multiple of %d up to %d", (long long)a.width,
             ZEMM_ATTENTION_WIDTH_STEP, ZEMM_ATTENTION_MOST_WIDTH);
    if (a.masks != 0 && a.masks != 1 && a.masks != a.batch)
        fail(zemm_invalid_arguments, "masks is %lld, not 0, 1 or batch", (long long)a.masks);
}

memory_desc cache(const zemm_attention_t &a, const zemm_dim_t (&strides)[3]) {
    const zemm_dim_t dims[] = {a.batch, a.heads, a.tokens, a.width};
    const zemm_dim_t all[] = {strides[0], strides[1], strides[2], 1};
    return md_with_strides(4, dims, a.type, all);
}

// Heads of q that a work-item computes, which reads their keys and values once: as many as leave work for all
// cores.
zemm_dim_t rows_of(const zemm_attention_t &a, zemm_dim_t cores) {
    for (zemm_dim_t rows = std::min(most_rows, a.shared); rows > 1; --rows)
        if (a.shared % rows == 0 && a.batch * a.heads * (a.shared / rows) >= cores)
            return rows;
    return 1;
}

class primitive_desc : public internal_desc {
public:
    primitive_desc(zemm_engine_t e, const zemm_attention_t &a)
        : internal_desc(e, reorder::copy_launch), asked_(a) {
        const memory_desc rows = dense({a.batch, a.heads, a.shared, a.width}, a.type);
        arguments[ZEMM_ARG_SRC] = {.md = rows};
        arguments[ZEMM_ARG_DST] = {.md = rows};
        arguments[ZEMM_ARG_SRC_1] = {.md = cache(a, a.k_strides)};
        arguments[ZEMM_ARG_SRC_2] = {.md = cache(a, a.v_strides)};
        if (a.masks)
            arguments[ZEMM_ARG_SRC_3] = {.md = dense({a.masks, a.tokens}, zemm_u8)};
    }

    const char *impl_name() const override { return "attention"; }
    std::unique_ptr<zemm_primitive_desc> clone() const override {
        return std::make_unique<primitive_desc>(*this);
    }
    std::string key_text() const override {
        const kernels::attention_arguments a = fixed();
        return std::string(reinterpret_cast<const char *>(&a), sizeof a) +
               text("%lld %lld %d", (long long)asked_.batch, (long long)asked_.masks, int(asked_.type));
    }
    std::string log_text() const override {
        return text("%s,attention,%s,undef,src:%s dst:%s,,,%lldx%lldx%lldx%lldx%lld",
                    engine_kind_name(engine->kind), impl_name(), data_type_name(asked_.type),
                    data_type_name(asked_.type), (long long)asked_.batch, (long long)asked_.heads,
                    (long long)asked_.shared, (long long)asked_.tokens, (long long)asked_.width);
    }

private:
    // The struct of the kernel, without addresses.
    kernels::attention_arguments fixed() const {
        kernels::attention_arguments a = {};
        a.heads = asked_.heads;
        a.shared = asked_.shared;
        a.tokens = asked_.tokens;
        a.width = asked_.width;
        std::copy_n(asked_.k_strides, 3, a.k_strides);
        std::copy_n(asked_.v_strides, 3, a.v_strides);
        a.mask_stride = asked_.masks > 1 ? asked_.tokens : 0;
        a.scale = asked_.scale;
        return a;
    }

    sequence launches() const override {
        values_of<kernels::attention_arguments> values;
        auto &v = values.fixed = fixed();
        values.set(v.q, address_of(ZEMM_ARG_SRC));
        values.set(v.k, address_of(ZEMM_ARG_SRC_1));
        values.set(v.v, address_of(ZEMM_ARG_SRC_2));
        values.set(v.dst, address_of(ZEMM_ARG_DST));
        if (asked_.masks)
            values.set(v.mask, address_of(ZEMM_ARG_SRC_3));
        const zemm_dim_t rows = rows_of(asked_, engine->device->compute_units),
                         heads = asked_.batch * asked_.heads * asked_.shared;
        launch one;
        one.operands = {first_values};
        one.values = {values.made()};
        one.plan.kernel = "attention";
        one.plan.constants = {{ATTENTION_SPEC_TYPE, uint32_t(asked_.type)},
                              {ATTENTION_SPEC_ROWS, uint32_t(rows)}};
        one.plan.group_count = {work_groups(heads, rows, "attention"), 1, 1};
        one.plan.operations = 2 * heads * asked_.tokens * asked_.width;
        sequence all;
        all.add_last(std::move(one));
        return all;
    }

    const zemm_attention_t asked_;
};

} // namespace

std::unique_ptr<zemm_primitive_desc> make_primitive_desc(zemm_engine_t engine,
                                                         const zemm_attention_t &asked) {
    check(asked);
    return std::make_unique<primitive_desc>(engine, asked);
}

} // namespace zemm::attention
