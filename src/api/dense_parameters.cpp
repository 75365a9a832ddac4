// SPDX-License-Identifier: Apache-2.0
#include "api/dense_parameters.hpp"

#include "common/md_check.hpp"
#include "primitive/fallback.hpp"
#include "reorder/runtime_desc.hpp"

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
    for (int d = 0; d < md.ndims; ++d)
        if (md.dims[d] != expected.dims[d] && expected.dims[d] != runtime_dim)
            return false;
    return true;
}

bool needs_copy(const argument &expected, const zemm_memory &memory, const zemm_engine &engine) {
    const memory_desc &md = memory.md;
    return expected.is_parameter && !expected.is_on_host && memory.engine.get() == &engine &&
           md.format_kind == zemm_blocked && has_dims_of(md, expected.md) && md_nelems(md) > 0 &&
           !is_dense(md) && memory.parts[0].handle;
}

std::unique_ptr<zemm_memory> dense_copy(zemm_stream &stream, zemm_memory &from,
                                        std::span<const ze_event_handle_t> waits) {
    auto copy = std::make_unique<zemm_memory>();
    copy->md = md_with_strides(from.md.ndims, from.md.dims, from.md.data_type, nullptr);
    copy->engine = from.engine;
    const auto &device = from.engine->device;
    zemm_memory::part part;
    part.owned = std::make_shared<ze::buffer>(device, md_size(copy->md), ze::usm::device);
    part.handle = part.owned->data();
    copy->parts.push_back(std::move(part));
    const auto desc =
        reorder::make_primitive_desc(from.md, from.engine.get(), copy->md, from.engine.get(), nullptr);
    cache_result found;
    const auto move = create_primitive(*desc, found);
    const zemm_exec_arg_t args[] = {{ZEMM_ARG_FROM, &from}, {ZEMM_ARG_TO, copy.get()}};
    move->execute(stream, args, waits);
    return copy;
}

} // namespace

dense_parameters::dense_parameters(const zemm_primitive &primitive, zemm_stream &stream,
                                   std::span<const zemm_exec_arg_t> args,
                                   std::span<const ze_event_handle_t> waits)
    : passed_(args) {
    const zemm_primitive_desc &pd = *primitive.pd;
    if (stream.engine != pd.engine) // the execution refuses it
        return;
    for (size_t i = 0; i < args.size(); ++i) {
        const auto expected = pd.arguments.find(args[i].arg);
        if (!args[i].memory || expected == pd.arguments.end() ||
            !needs_copy(expected->second, *args[i].memory, *pd.engine))
            continue;
        if (replaced_.empty())
            replaced_.assign(args.begin(), args.end());
        copies_.push_back(dense_copy(stream, *args[i].memory, waits));
        replaced_[i].memory = copies_.back().get();
    }
}

} // namespace zemm
