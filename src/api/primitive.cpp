// SPDX-License-Identifier: Apache-2.0
// Entry points of primitives: creation, execution (also of Level Zero interoperability) and their
// log lines.
#include <chrono>

#include "common/error.hpp"
#include "common/verbose.hpp"
#include "primitive/fallback.hpp"
#include "primitive/primitive_desc.hpp"
#include "zemm/zemm.h"
#include "zemm/zemm_ze.h"

using namespace zemm;

namespace {

using clock_type = std::chrono::steady_clock;

double milliseconds_since(clock_type::time_point start) {
    return std::chrono::duration<double, std::milli>(clock_type::now() - start).count();
}

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

// Keeps the library's buffers until the work has run, as the caller may destroy the memories before
// that, or give them other handles.
void keep_buffers(ze::stream &stream, const std::map<int, zemm_memory_t> &memories) {
    for (const auto &[arg, memory] : memories)
        for (const zemm_memory::part &part : memory->parts)
            if (part.owned)
                stream.keep(part.owned);
}

void execute(const zemm_primitive &primitive, zemm_stream &stream, int nargs, const zemm_exec_arg_t *args,
             std::span<const ze_event_handle_t> waits) {
    const zemm_primitive_desc &pd = *primitive.pd;
    if (nargs < 0)
        fail(zemm_invalid_arguments, "nargs is %d", nargs);
    if (nargs > 0)
        require(args, "args");
    if (stream.engine != pd.engine)
        fail(zemm_invalid_arguments, "the stream belongs to another engine than the primitive");
    const bool empty = pd.empty();
    const auto memories = bind(pd.arguments, pd.engine.get(), empty, {args, size_t(nargs)});
    const bool log = verbose::enabled(verbose::profile_exec);
    // The time in the log is of this execution alone, so earlier work must be done first.
    if (log)
        stream.stream.wait();
    const auto start = clock_type::now();
    stream.stream.begin_entry();
    try {
        if (empty) {
            stream.stream.wait_for(waits);
        } else {
            keep_buffers(stream.stream, memories);
            primitive.run(stream.stream, memories, waits);
        }
    } catch (...) {
        stream.stream.cancel_entry();
        throw;
    }
    stream.stream.end_entry();
    if (!log)
        return;
    stream.stream.wait();
    verbose::print(text("primitive,exec,%s,%g", pd.log_text().c_str(), milliseconds_since(start)));
}

} // namespace

zemm_status_t zemm_primitive_create(zemm_primitive_t *primitive, const_zemm_primitive_desc_t pd) {
    return guard([&] {
        require(primitive, "primitive");
        require(pd, "primitive_desc");
        const auto start = clock_type::now();
        cache_result found = cache_result::miss;
        auto created = create_primitive(*pd, found);
        if (verbose::enabled(verbose::profile_create))
            verbose::print(text("primitive,create:%s,%s,%g", cache_result_name(found),
                                created->pd->log_text().c_str(), milliseconds_since(start)));
        *primitive = created.release();
    });
}

zemm_status_t zemm_primitive_create_from_cache_blob(zemm_primitive_t *primitive,
                                                    const_zemm_primitive_desc_t pd, size_t size,
                                                    const uint8_t *cache_blob) {
    return guard([&] {
        require(primitive, "primitive");
        require(pd, "primitive_desc");
        require(cache_blob, "cache_blob");
        fail(zemm_unimplemented,
             "primitives have no cache blobs (built kernels are kept on disk): %zu bytes cannot be used",
             size);
    });
}

zemm_status_t zemm_primitive_get_cache_blob(const_zemm_primitive_t primitive, size_t *size, uint8_t *) {
    return guard([&] {
        require(primitive, "primitive");
        require(size, "size");
        fail(zemm_unimplemented, "primitives have no cache blobs: built kernels are kept on disk instead");
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
        require(primitive, "primitive");
        require(stream, "stream");
        execute(*primitive, *stream, nargs, args, {});
    });
}

zemm_status_t zemm_ze_interop_primitive_execute(const_zemm_primitive_t primitive, zemm_stream_t stream,
                                                int nargs, const zemm_exec_arg_t *args, int ndeps,
                                                const ze_event_handle_t *deps,
                                                ze_event_handle_t *return_event) {
    return guard([&] {
        require(primitive, "primitive");
        require(stream, "stream");
        if (ndeps < 0)
            fail(zemm_invalid_arguments, "ndeps is %d", ndeps);
        if (ndeps > 0)
            require(deps, "deps");
        for (int i = 0; i < ndeps; ++i)
            require(deps[i], text("deps[%d]", i).c_str());
        execute(*primitive, *stream, nargs, args, {deps, size_t(ndeps)});
        if (return_event)
            *return_event = nullptr;
    });
}

zemm_status_t zemm_primitive_destroy(zemm_primitive_t primitive) {
    return guard([&] { delete primitive; });
}
