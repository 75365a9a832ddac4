// SPDX-License-Identifier: Apache-2.0
// Entry point of the steps of a mixture of experts.

#include "common/guard.hpp"
#include "experts/primitive_desc.hpp"

using namespace zemm;

zemm_status_t zemm_experts_primitive_desc_create(zemm_primitive_desc_t *pd, zemm_engine_t engine,
                                                 const zemm_experts_t *step) {
    return guard([&] {
        require(pd, "primitive_desc");
        REQUIRE(engine, step);
        *pd = experts::make_primitive_desc(engine, *step).release();
    });
}
