// SPDX-License-Identifier: Apache-2.0
// Entry points of primitive descriptors of each kind, and of primitives: creation and execution, also of
// Level Zero interoperability.
#include "api/give_bytes.hpp"
#include "common/guard.hpp"
#include "common/verbose.hpp"
#include "inner_product/primitive_desc.hpp"
#include "matmul/desc/primitive_desc.hpp"
#include "primitive/cache_blob.hpp"
#include "primitive/fallback.hpp"
#include "primitive/primitive_cache.hpp"
#include "primitive/primitive_desc.hpp"
#include "reorder/dynamic_quantize.hpp"
#include "reorder/runtime_desc.hpp"
#include "zemm/zemm.h"
#include "zemm/zemm_ze.h"

using namespace zemm;

namespace {

const char *cache_result_name(cache_result found) {
    switch (found) {
    case cache_result::hit:
        return "cache_hit";
    case cache_result::persistent_hit:
        return "persistent_cache_hit";
    case cache_result::miss:
        break;
    }
    return "cache_miss";
}

std::span<const zemm_exec_arg_t> checked_args(int nargs, const zemm_exec_arg_t *args) {
    if (nargs < 0)
        fail(zemm_invalid_arguments, "nargs is %d", nargs);
    if (nargs > 0)
        require(args, "args");
    return {args, size_t(nargs)};
}

// blob: empty for a primitive that is created without one.
zemm_primitive_t create(const zemm_primitive_desc &pd, std::span<const uint8_t> blob) {
    const verbose::timer since_start;
    cache_result found = cache_result::miss;
    if (!blob.empty())
        load_cache_blob(pd, blob);
    auto created = create_primitive(pd, found);
    if (verbose::enabled(verbose::profile_create))
        verbose::print(text("primitive,create:%s,%s,%g", cache_result_name(found),
                            created->pd->log_text().c_str(), since_start.milliseconds()));
    return created.release();
}

} // namespace

zemm_status_t zemm_matmul_primitive_desc_create(zemm_primitive_desc_t *pd, zemm_engine_t engine,
                                                const_zemm_memory_desc_t src_desc,
                                                const_zemm_memory_desc_t weights_desc,
                                                const_zemm_memory_desc_t bias_desc,
                                                const_zemm_memory_desc_t dst_desc,
                                                const_zemm_primitive_attr_t attr) {
    return guard([&] {
        require(pd, "primitive_desc");
        REQUIRE(engine, src_desc, weights_desc, dst_desc);
        auto made = matmul::make_primitive_desc(engine, *src_desc, *weights_desc, bias_desc, *dst_desc, attr);
        skip_failed(*made);
        *pd = made.release();
    });
}

zemm_status_t zemm_inner_product_forward_primitive_desc_create(
    zemm_primitive_desc_t *pd, zemm_engine_t engine, zemm_prop_kind_t prop_kind,
    const_zemm_memory_desc_t src_desc, const_zemm_memory_desc_t weights_desc,
    const_zemm_memory_desc_t bias_desc, const_zemm_memory_desc_t dst_desc, const_zemm_primitive_attr_t attr) {
    return guard([&] {
        require(pd, "primitive_desc");
        REQUIRE(engine, src_desc, weights_desc, dst_desc);
        auto made = inner_product::make_primitive_desc(engine, prop_kind, *src_desc, *weights_desc, bias_desc,
                                                       *dst_desc, attr);
        skip_failed(*made);
        *pd = made.release();
    });
}

zemm_status_t zemm_reorder_primitive_desc_create(zemm_primitive_desc_t *pd, const_zemm_memory_desc_t src_desc,
                                                 zemm_engine_t src_engine, const_zemm_memory_desc_t dst_desc,
                                                 zemm_engine_t dst_engine, const_zemm_primitive_attr_t attr) {
    return guard([&] {
        require(pd, "reorder_primitive_desc");
        REQUIRE(src_desc, src_engine, dst_desc, dst_engine);
        auto made = reorder::make_primitive_desc(*src_desc, src_engine, *dst_desc, dst_engine, attr);
        skip_failed(*made);
        *pd = made.release();
    });
}

zemm_status_t zemm_dynamic_quantize_primitive_desc_create(
    zemm_primitive_desc_t *pd, zemm_engine_t engine, zemm_alg_kind_t alg_kind,
    const_zemm_memory_desc_t src_desc, const_zemm_memory_desc_t dst_desc, const_zemm_memory_desc_t scale_desc,
    const_zemm_memory_desc_t zero_point_desc, const_zemm_memory_desc_t reductions_desc,
    const_zemm_primitive_attr_t attr) {
    return guard([&] {
        require(pd, "primitive_desc");
        REQUIRE(engine, src_desc, dst_desc, scale_desc);
        auto made = reorder::make_dynamic_quantize_desc(
            engine, {alg_kind, *src_desc, *dst_desc, *scale_desc, zero_point_desc, reductions_desc, attr});
        skip_failed(*made);
        *pd = made.release();
    });
}

zemm_status_t zemm_primitive_desc_next_impl(zemm_primitive_desc_t pd) {
    bool moved = false;
    const zemm_status_t status = guard([&] {
        require(pd, "primitive_desc");
        moved = next_working_impl(*pd);
    });
    return status != zemm_success || moved ? status : zemm_last_impl_reached;
}

zemm_status_t zemm_primitive_desc_clone(zemm_primitive_desc_t *pd, const_zemm_primitive_desc_t existing) {
    return guard([&] {
        require(pd, "primitive_desc");
        require(existing, "existing_primitive_desc");
        *pd = existing->clone().release();
    });
}

zemm_status_t zemm_primitive_desc_get_attr(const_zemm_primitive_desc_t pd,
                                           const_zemm_primitive_attr_t *attr) {
    return guard([&] {
        require(pd, "primitive_desc");
        require(attr, "attr");
        *attr = &pd->attr();
    });
}

zemm_status_t zemm_primitive_desc_get_tuning(const_zemm_primitive_desc_t pd, size_t *size, char *tuning) {
    return guard([&] {
        require(pd, "primitive_desc");
        require(size, "size");
        give_text(pd->tuning_text(), size, tuning, "tuning");
    });
}

zemm_status_t zemm_primitive_desc_destroy(zemm_primitive_desc_t pd) {
    return guard([&] { delete pd; });
}

zemm_status_t zemm_primitive_desc_query(const_zemm_primitive_desc_t pd, zemm_query_t what, int index,
                                        void *result) {
    return guard_query([&] {
        require(pd, "primitive_desc");
        require(result, "result");
        pd->query(what, index, result);
    });
}

const_zemm_memory_desc_t zemm_primitive_desc_query_md(const_zemm_primitive_desc_t pd, zemm_query_t what,
                                                      int index) {
    const_zemm_memory_desc_t result = nullptr;
    const zemm_status_t status = guard_query([&] {
        require(pd, "primitive_desc");
        if (what < zemm_query_some_md || what > zemm_query_exec_arg_md)
            fail(zemm_invalid_arguments, "query %d does not name a memory descriptor", int(what));
        result = &pd->query_md(what, index);
    });
    return status == zemm_success ? result : nullptr;
}

int zemm_primitive_desc_query_s32(const_zemm_primitive_desc_t pd, zemm_query_t what, int index) {
    int result = 0;
    const zemm_status_t status = guard_query([&] {
        require(pd, "primitive_desc");
        if (what != zemm_query_num_of_inputs_s32 && what != zemm_query_num_of_outputs_s32)
            fail(zemm_unimplemented, "a %s primitive descriptor has no 32-bit integer for query %d",
                 zemm_prim_kind2str(pd->kind()), int(what));
        pd->query(what, index, &result);
    });
    return status == zemm_success ? result : 0;
}

zemm_status_t zemm_primitive_create(zemm_primitive_t *primitive, const_zemm_primitive_desc_t pd) {
    return guard([&] {
        require(primitive, "primitive");
        require(pd, "primitive_desc");
        *primitive = create(*pd, {});
    });
}

zemm_status_t zemm_primitive_create_from_cache_blob(zemm_primitive_t *primitive,
                                                    const_zemm_primitive_desc_t pd, size_t size,
                                                    const uint8_t *cache_blob) {
    return guard([&] {
        require(primitive, "primitive");
        require(pd, "primitive_desc");
        require(cache_blob, "cache_blob");
        if (size == 0)
            fail(zemm_invalid_arguments, "the cache blob is empty");
        *primitive = create(*pd, {cache_blob, size});
    });
}

zemm_status_t zemm_primitive_get_cache_blob(const_zemm_primitive_t primitive, size_t *size,
                                            uint8_t *cache_blob) {
    return guard([&] {
        REQUIRE(primitive, size);
        give_bytes(make_cache_blob(*primitive->pd), size, cache_blob, "cache_blob");
    });
}

zemm_status_t zemm_primitive_get_primitive_desc(const_zemm_primitive_t primitive,
                                                const_zemm_primitive_desc_t *pd) {
    return guard([&] {
        require(primitive, "primitive");
        require(pd, "primitive_desc");
        *pd = primitive->pd.get();
    });
}

zemm_status_t zemm_primitive_execute(const_zemm_primitive_t primitive, zemm_stream_t stream, int nargs,
                                     const zemm_exec_arg_t *args) {
    return guard([&] {
        REQUIRE(primitive, stream);
        primitive->execute(*stream, checked_args(nargs, args), {});
    });
}

zemm_status_t zemm_ze_interop_primitive_execute(const_zemm_primitive_t primitive, zemm_stream_t stream,
                                                int nargs, const zemm_exec_arg_t *args, int ndeps,
                                                const ze_event_handle_t *deps,
                                                ze_event_handle_t *return_event) {
    return guard([&] {
        REQUIRE(primitive, stream);
        if (ndeps < 0)
            fail(zemm_invalid_arguments, "ndeps is %d", ndeps);
        if (ndeps > 0)
            require(deps, "deps");
        for (int i = 0; i < ndeps; ++i)
            require(deps[i], text("deps[%d]", i).c_str());
        primitive->execute(*stream, checked_args(nargs, args), {deps, size_t(ndeps)});
        if (return_event)
            *return_event = nullptr;
    });
}

zemm_status_t zemm_primitive_destroy(zemm_primitive_t primitive) {
    return guard([&] { delete primitive; });
}
