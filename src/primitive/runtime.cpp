// SPDX-License-Identifier: Apache-2.0
#include "primitive/runtime.hpp"

#include <algorithm>
#include <numeric>

#include "common/error.hpp"
#include "common/memory_desc.hpp"

namespace zemm {

namespace {

const zemm_memory &memory_of(int arg, std::span<const zemm_exec_arg_t> passed) {
    const auto found =
        std::ranges::find_if(passed, [&](const zemm_exec_arg_t &a) { return a.arg == arg && a.memory; });
    if (found == passed.end())
        fail(zemm_invalid_arguments, "%s is missing", argument_name(arg).c_str());
    return *found->memory;
}

// The primitive's descriptors. Those with runtime values are replaced by the descriptors of the
// memories, with the data types of the primitive.
tensor_map tensors_of(const argument_map &arguments, std::span<const zemm_exec_arg_t> passed) {
    tensor_map tensors;
    for (int arg : {ZEMM_ARG_SRC, ZEMM_ARG_WEIGHTS, ZEMM_ARG_BIAS, ZEMM_ARG_DST}) {
        const auto asked = arguments.find(arg);
        if (asked == arguments.end())
            continue;
        memory_desc md = asked->second.md;
        if (md_has_runtime(md)) {
            md = memory_of(arg, passed).md;
            if (!md_fits(md, asked->second.md))
                fail(zemm_invalid_arguments, "%s has %s, which does not fit the primitive's %s",
                     argument_name(arg).c_str(), md_sentence(md).c_str(),
                     md_sentence(asked->second.md).c_str());
            md.data_type = asked->second.md.data_type;
        }
        tensors.emplace(arg, md);
    }
    return tensors;
}

// Equal for equal shapes of the tensors with runtime values.
std::string key_of(const argument_map &arguments, const tensor_map &tensors) {
    std::string key;
    const auto add = [&](const zemm_dim_t *values, int count) {
        key.append(reinterpret_cast<const char *>(values), size_t(count) * sizeof *values);
    };
    for (const auto &[arg, md] : tensors) {
        if (!md_has_runtime(arguments.at(arg).md))
            continue;
        add(md.dims, md.ndims);
        add(md.strides, md.ndims);
        add(&md.offset0, 1);
    }
    return key;
}

} // namespace

void likely_dim::fit_groups(const quant_entry *entry, int index) {
    constexpr zemm_dim_t most = 1 << 20; // larger groups do not matter for the choice
    if (!entry || entry->group_ndims != 2 || entry->groups[index] > most)
        return;
    const zemm_dim_t unit = std::lcm(unit_, entry->groups[index]);
    if (unit <= most)
        unit_ = unit;
}

std::unique_ptr<zemm_primitive_desc> runtime_primitive_desc::of_tensors(const tensor_map &tensors) const {
    return settle(resolved(tensors));
}

std::vector<const memory_desc *> runtime_primitive_desc::key_tensors() const {
    std::vector<const memory_desc *> tensors;
    for (const auto &[arg, argument] : arguments)
        tensors.push_back(&argument.md);
    return tensors;
}

std::unique_ptr<zemm_primitive> runtime_primitive_desc::create(cache_result &found) const {
    found = enter_cache();
    std::unique_ptr<zemm_primitive_desc> copy = clone();
    return std::make_unique<runtime_primitive>(
        std::unique_ptr<const runtime_primitive_desc>(static_cast<runtime_primitive_desc *>(copy.release())));
}

std::shared_ptr<const zemm_primitive>
runtime_primitive::of_memories(std::span<const zemm_exec_arg_t> passed) const {
    const auto &desc = static_cast<const runtime_primitive_desc &>(*pd);
    const tensor_map tensors = tensors_of(desc.arguments, passed);
    return by_shape_.get(key_of(desc.arguments, tensors), [&] { return desc.of_tensors(tensors); });
}

void runtime_primitive::execute(zemm_stream &stream, std::span<const zemm_exec_arg_t> args,
                                std::span<const ze_event_handle_t> waits) const {
    of_memories(args)->execute(stream, args, waits);
}

} // namespace zemm
