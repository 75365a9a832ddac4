// SPDX-License-Identifier: Apache-2.0
// Executes primitives whose dimensions and strides are all known.
#include "common/error.hpp"
#include "common/verbose.hpp"
#include "primitive/dense_parameters.hpp"

namespace zemm {

void keep_buffers(ze::stream &stream, const std::map<int, zemm_memory_t> &memories) {
    for (const auto &[arg, memory] : memories)
        for (const zemm_memory::part &part : memory->parts)
            if (part.owned)
                stream.keep(part.owned);
}

void static_primitive::execute(zemm_stream &stream, std::span<const zemm_exec_arg_t> args,
                               std::span<const ze_event_handle_t> waits) const {
    if (stream.engine != pd->engine)
        fail(zemm_invalid_arguments, "the stream belongs to another engine than the primitive");
    const bool empty = pd->empty();
    auto memories = bind(pd->arguments, pd->engine.get(), empty, args);
    const std::unique_ptr<const values> read = empty ? nullptr : read_values(stream.stream, memories, waits);
    const auto copies = empty ? nullptr : dense_parameters::make(*pd, memories);
    const bool log = verbose::enabled(verbose::profile_exec);
    // The time in the log is of this execution alone, so earlier work must be done first.
    if (log)
        stream.stream.wait();
    const verbose::timer since_start;
    stream.stream.begin_entry();
    try {
        if (empty) {
            stream.stream.wait_for(waits);
        } else if (!copies) {
            run(stream.stream, memories, read.get(), waits);
        } else {
            copies->submit(stream.stream, waits);
            run(stream.stream, memories, read.get(), {});
            copies->submit_results(stream.stream);
        }
    } catch (...) {
        stream.stream.cancel_entry();
        throw;
    }
    stream.stream.end_entry();
    if (!log)
        return;
    stream.stream.wait();
    const std::string line = read ? read->log_text() : pd->log_text();
    verbose::print(text("primitive,exec,%s,%g", line.c_str(), since_start.milliseconds()));
}

} // namespace zemm
