// SPDX-License-Identifier: Apache-2.0
// Entry points of streams and of profiling.
#include <algorithm>
#include <vector>

#include "common/guard.hpp"
#include "primitive/objects.hpp"
#include "zemm/zemm.h"

using namespace zemm;

namespace {

constexpr unsigned in_order = zemm_stream_in_order, out_of_order = zemm_stream_out_of_order,
                   profiling = zemm_stream_profiling;

void check_flags(unsigned flags) {
    if (flags & ~(in_order | out_of_order | profiling))
        fail(zemm_invalid_arguments,
             "flags is 0x%x: bits besides in_order (1), out_of_order (2) and profiling (4)", flags);
    if (!flags)
        fail(zemm_invalid_arguments, "flags is 0: pass zemm_stream_default_flags");
    if ((flags & in_order) && (flags & out_of_order))
        fail(zemm_invalid_arguments, "flags is 0x%x: both in_order and out_of_order", flags);
    if ((flags & out_of_order) && (flags & profiling))
        fail(zemm_invalid_arguments, "flags is 0x%x: out_of_order together with profiling", flags);
}

void require_profiling(zemm_stream_t stream) {
    require(stream, "stream");
    if (!stream->stream.profiling())
        fail(zemm_invalid_arguments, "stream was created without zemm_stream_profiling");
}

} // namespace

zemm_status_t zemm_stream_create(zemm_stream_t *stream, zemm_engine_t engine, unsigned flags) {
    return guard([&] {
        REQUIRE(stream, engine);
        check_flags(flags);
        *stream = new zemm_stream{engine->shared_from_this(), ze::stream(engine->device, flags & profiling)};
    });
}

zemm_status_t zemm_threadpool_interop_stream_create(zemm_stream_t *stream, zemm_engine_t engine,
                                                    const zemm_threadpool_t *threadpool) {
    return guard([&] {
        REQUIRE(stream, engine, threadpool);
        if (engine->kind != zemm_cpu)
            fail(zemm_invalid_arguments, "engine is a GPU: threads of the program compute for a CPU");
        if (!threadpool->get_num_threads || !threadpool->parallel_for)
            fail(zemm_invalid_arguments, "threadpool lacks get_num_threads or parallel_for");
        *stream = new zemm_stream{engine->shared_from_this(), ze::stream(engine->device, *threadpool)};
    });
}

zemm_status_t zemm_stream_get_engine(const zemm_stream *stream, zemm_engine_t *engine) {
    return guard([&] {
        REQUIRE(stream, engine);
        *engine = stream->engine.get();
    });
}

zemm_status_t zemm_stream_wait(zemm_stream_t stream) {
    const uncancelled until_done;
    return guard([&] {
        require(stream, "stream");
        stream->stream.wait(until_done.before());
    });
}

zemm_status_t zemm_stream_destroy(zemm_stream_t stream) {
    return guard([&] { delete stream; });
}

zemm_status_t zemm_reset_profiling(zemm_stream_t stream) {
    return guard([&] {
        require_profiling(stream);
        stream->stream.reset_profiling();
    });
}

zemm_status_t zemm_query_profiling_data(zemm_stream_t stream, zemm_profiling_data_kind_t kind,
                                        int *num_entries, uint64_t *data) {
    return guard([&] {
        require_profiling(stream);
        require(num_entries, "num_entries");
        if (kind == zemm_profiling_data_kind_cycles)
            fail(zemm_unimplemented, "kind is cycles: streams keep times only");
        if (kind != zemm_profiling_data_kind_time)
            fail(zemm_invalid_arguments, "kind is %d: not zemm_profiling_data_kind_time (1)",
                 static_cast<int>(kind));
        if (!data) {
            stream->stream.wait();
            *num_entries = static_cast<int>(stream->stream.entry_count());
            return;
        }
        const int count = static_cast<int>(stream->stream.entry_count());
        if (*num_entries < count)
            fail(zemm_invalid_arguments, "data has room for num_entries = %d, but the stream has %d entries",
                 *num_entries, count);
        const std::vector<uint64_t> times = stream->stream.times();
        std::ranges::copy(times, data);
        *num_entries = count;
    });
}
