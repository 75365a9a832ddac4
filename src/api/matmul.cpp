// SPDX-License-Identifier: Apache-2.0
// Entry points of the matmul primitive descriptor.
#include "common/error.hpp"
#include "matmul/desc/runtime_desc.hpp"
#include "primitive/fallback.hpp"
#include "zemm/zemm.h"

using namespace zemm;

zemm_status_t zemm_matmul_primitive_desc_create(zemm_primitive_desc_t *pd, zemm_engine_t engine,
                                                const_zemm_memory_desc_t src_desc,
                                                const_zemm_memory_desc_t weights_desc,
                                                const_zemm_memory_desc_t bias_desc,
                                                const_zemm_memory_desc_t dst_desc,
                                                const_zemm_primitive_attr_t attr) {
    return guard([&] {
        require(pd, "primitive_desc");
        require(engine, "engine");
        require(src_desc, "src_desc");
        require(weights_desc, "weights_desc");
        require(dst_desc, "dst_desc");
        auto made = matmul::make_primitive_desc(engine, *src_desc, *weights_desc, bias_desc, *dst_desc, attr);
        skip_failed(*made);
        *pd = made.release();
    });
}
