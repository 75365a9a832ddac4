// SPDX-License-Identifier: Apache-2.0
// Executes primitives whose dimensions and strides are all known.
#include <algorithm>
#include <list>
#include <map>
#include <memory>
#include <span>

#include "common/error.hpp"
#include "common/verbose.hpp"
#include "primitive/sequence.hpp"

namespace zemm {

namespace {

// The copies of one execution. Kernels read scales, zero points and reductions as dense tensors, and write
// those that are results so. A memory with the dimensions of such a parameter may have other strides: a
// launch then copies it.
class dense_parameters {
public:
    // Prepares them, and submits nothing. Replaces the memories by dense ones. nullptr if there is nothing to
    // copy. memories: what bind() returns for the descriptor's arguments.
    static std::shared_ptr<const dense_parameters> make(const zemm_primitive_desc &pd, memory_map &memories,
                                                        copy_maker *make_copy);

    // Submits the copies to the dense memories, the first one after the events in waits.
    void submit(ze::stream &stream, std::span<const ze_event_handle_t> waits) const;
    // Submits the copies of results back. The launches that write them have been submitted.
    void submit_results(ze::stream &stream) const;

private:
    void run(ze::stream &stream, const std::shared_ptr<const compiled_sequence> &copies,
             std::span<const ze_event_handle_t> waits) const;

    const argument_map *arguments_;
    memory_map callers_; // the memories that are copied
    std::list<zemm_memory> dense_;
    std::shared_ptr<ze::buffer> buffer_; // holds the dense ones
    std::shared_ptr<const compiled_sequence> before_, after_;
};

// Whether the elements lie one after the other from the first byte on, the last dimension innermost.
bool is_dense(const memory_desc &md) {
    zemm_dim_t stride = 1;
    for (int d = md.ndims - 1; d >= 0; --d) {
        if (md.dims[d] != 1 && md.strides[d] != stride)
            return false;
        stride *= md.dims[d];
    }
    return md_is_plain(md) && md.offset0 == 0;
}

bool has_dims_of(const memory_desc &md, const memory_desc &expected) {
    if (md.ndims != expected.ndims || md.data_type != expected.data_type)
        return false;
    return std::equal(md.dims, md.dims + md.ndims, expected.dims);
}

bool needs_copy(const argument &expected, const memory_desc &md) {
    return expected.is_parameter && !expected.is_on_host && md.format_kind == zemm_blocked &&
           has_dims_of(md, expected.md) && md_nelems(md) > 0 && !is_dense(md);
}

std::shared_ptr<const dense_parameters> dense_parameters::make(const zemm_primitive_desc &pd,
                                                               memory_map &memories, copy_maker *make_copy) {
    // bind() has checked that both have the same arguments.
    const auto is_ready = [](const auto &asked, const auto &bound) {
        return !needs_copy(asked.second, bound.second->md);
    };
    if (std::ranges::equal(pd.arguments, memories, is_ready))
        return nullptr;
    auto made = std::make_shared<dense_parameters>();
    scratch dealt;
    std::vector<size_t> places; // of the dense memories in the buffer
    sequence before, after;
    for (const auto &[arg, expected] : pd.arguments) {
        const zemm_memory_t memory = memories.at(arg);
        if (!needs_copy(expected, memory->md))
            continue;
        made->callers_.add(arg, memory);
        zemm_memory &dense = made->dense_.emplace_back();
        dense.md = md_with_strides(memory->md.ndims, memory->md.dims, memory->md.data_type, nullptr);
        dense.engine = memory->engine;
        const size_t at = dealt.take(md_size(dense.md));
        places.push_back(at);
        if (expected.is_result) {
            if (md_shared_dim(memory->md) >= 0)
                fail(zemm_invalid_arguments,
                     "%s has %s: results need a place each, and stride 0 gives them one",
                     argument_name(arg).c_str(), md_sentence(memory->md).c_str());
            after.add_last(
                make_copy(dense.md, memory->md, in_scratchpad(at), address_of(arg), *pd.engine->device));
        } else {
            before.add_last(
                make_copy(memory->md, dense.md, address_of(arg), in_scratchpad(at), *pd.engine->device));
        }
        memories.replace(arg, &dense);
    }
    made->arguments_ = &pd.arguments;
    made->buffer_ = std::make_shared<ze::buffer>(pd.engine->device, dealt.size(), ze::usm::device);
    auto at = places.begin();
    for (zemm_memory &dense : made->dense_) {
        zemm_memory::part &part = dense.parts.emplace_back();
        part.handle = static_cast<char *>(made->buffer_->data()) + *at++;
        part.owned = made->buffer_;
    }
    made->before_ = std::make_shared<const compiled_sequence>(pd.engine->device, before);
    made->after_ = std::make_shared<const compiled_sequence>(pd.engine->device, after);
    return made;
}

void dense_parameters::run(ze::stream &stream, const std::shared_ptr<const compiled_sequence> &copies,
                           std::span<const ze_event_handle_t> waits) const {
    stream.keep(buffer_);
    compiled_sequence::run(copies, stream, {callers_, *arguments_}, static_cast<char *>(buffer_->data()), {},
                           waits);
}

void dense_parameters::submit(ze::stream &stream, std::span<const ze_event_handle_t> waits) const {
    stream.wait_for(waits);
    run(stream, before_, {});
}

void dense_parameters::submit_results(ze::stream &stream) const {
    run(stream, after_, {});
}

} // namespace

void keep_buffers(ze::stream &stream, const memory_map &memories) {
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
    const auto copies = empty ? nullptr : dense_parameters::make(*pd, memories, make_copy_);
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
