// SPDX-License-Identifier: Apache-2.0
// Entry point of the reorder primitive descriptor.
#include "common/error.hpp"
#include "primitive/fallback.hpp"
#include "reorder/runtime_desc.hpp"
#include "zemm/zemm.h"

using namespace zemm;

zemm_status_t zemm_reorder_primitive_desc_create(zemm_primitive_desc_t *pd, const_zemm_memory_desc_t src_desc,
                                                 zemm_engine_t src_engine, const_zemm_memory_desc_t dst_desc,
                                                 zemm_engine_t dst_engine, const_zemm_primitive_attr_t attr) {
    return guard([&] {
        require(pd, "reorder_primitive_desc");
        require(src_desc, "src_desc");
        require(src_engine, "src_engine");
        require(dst_desc, "dst_desc");
        require(dst_engine, "dst_engine");
        auto made = reorder::make_primitive_desc(*src_desc, src_engine, *dst_desc, dst_engine, attr);
        skip_failed(*made);
        *pd = made.release();
    });
}
