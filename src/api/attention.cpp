// SPDX-License-Identifier: Apache-2.0
// Entry point of attention.

#include "attention/primitive_desc.hpp"
#include "common/guard.hpp"

using namespace zemm;

zemm_status_t zemm_attention_primitive_desc_create(zemm_primitive_desc_t *pd, zemm_engine_t engine,
                                                   const zemm_attention_t *attention) {
    return guard([&] {
        require(pd, "primitive_desc");
        REQUIRE(engine, attention);
        *pd = attention::make_primitive_desc(engine, *attention).release();
    });
}
