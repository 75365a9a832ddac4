// SPDX-License-Identifier: Apache-2.0
#include "primitive/dense_parameters.hpp"

#include <algorithm>

#include "common/error.hpp"
#include "primitive/scratch.hpp"

namespace zemm {

namespace {

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

// Stride 0 would put several results in one place.
void refuse_shared_places(int arg, const memory_desc &md) {
    for (int d = 0; d < md.ndims; ++d)
        if (md.strides[d] == 0 && md.dims[d] > 1)
            fail(zemm_invalid_arguments, "%s has %s: results need a place each, and stride 0 gives them one",
                 argument_name(arg).c_str(), md_sentence(md).c_str());
}

} // namespace

std::shared_ptr<const dense_parameters> dense_parameters::make(const zemm_primitive_desc &pd,
                                                               std::map<int, zemm_memory_t> &memories) {
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
        zemm_memory_t &memory = memories.at(arg);
        if (!needs_copy(expected, memory->md))
            continue;
        made->callers_[arg] = memory;
        zemm_memory &dense = made->dense_.emplace_back();
        dense.md = md_with_strides(memory->md.ndims, memory->md.dims, memory->md.data_type, nullptr);
        dense.engine = memory->engine;
        const size_t at = dealt.take(md_size(dense.md));
        places.push_back(at);
        if (expected.is_result) {
            refuse_shared_places(arg, memory->md);
            after.add_last(
                copy_launch(dense.md, memory->md, in_scratchpad(at), address_of(arg), *pd.engine->device));
        } else {
            before.add_last(
                copy_launch(memory->md, dense.md, address_of(arg), in_scratchpad(at), *pd.engine->device));
        }
        memory = &dense;
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

} // namespace zemm
