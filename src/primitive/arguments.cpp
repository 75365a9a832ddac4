// SPDX-License-Identifier: Apache-2.0
// Checks execution arguments and reads host scalars.
#include "primitive/arguments.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "common/attr.hpp"
#include "common/error.hpp"
#include "common/half.hpp"
#include "common/names.hpp"

namespace zemm {

namespace {

// Whether the argument is a bias or a tensor of a post-op. An execution that passes one to a
// primitive without it is refused, because skipping it would silently give a wrong result.
bool names_a_tensor(int arg) {
    return arg == ZEMM_ARG_BIAS ||
           (arg >= ZEMM_ARG_ATTR_MULTIPLE_POST_OP_BASE && arg < ZEMM_ARG_ATTR_OFFSETS);
}

// Whether part may be a submemory of whole: it has whole's strides and blocks, and all its elements
// are within whole's buffer.
bool is_within(const memory_desc &part, const memory_desc &whole) {
    const auto same = [](const zemm_dim_t *a, const zemm_dim_t *b, int count) {
        return std::equal(a, a + count, b);
    };
    if (part.format_kind != zemm_blocked || whole.format_kind != zemm_blocked || part.ndims != whole.ndims ||
        part.inner_nblks != whole.inner_nblks || !same(part.strides, whole.strides, part.ndims) ||
        !same(part.inner_blks, whole.inner_blks, part.inner_nblks) ||
        !same(part.inner_idxs, whole.inner_idxs, part.inner_nblks))
        return false;
    for (int d = 0; d < part.ndims; ++d)
        if (part.dims[d] > whole.dims[d])
            return false;
    return part.offset0 >= whole.offset0 && md_size(part) <= md_size(whole);
}

// oneDNN takes any memory for an argument and reads it as the primitive's descriptor says. zemm does
// so for data types of the same size (a sum may read dst as another type), parameters, scratchpads,
// the parents of submemories, if the buffer is large enough, and memories that have the same elements at the
// same places. Other differences are mistakes.
void check_memory(const argument &expected, int arg, const zemm_memory &memory, zemm_engine_t engine) {
    const bool on_host = memory.md.format_kind == zemm_format_kind_host_scalar;
    // On CPU engines, oneDNN takes any memory for a parameter that is on the host.
    if (on_host ? !expected.is_on_host : expected.is_on_host && !memory.engine->device->host_pointers)
        fail(zemm_invalid_arguments, "%s must be %s", argument_name(arg).c_str(),
             expected.is_on_host ? "a host scalar memory, as its attribute says is_on_host"
                                 : "a memory on the engine, not a host scalar");
    const memory_desc &md = memory.md;
    const bool same_type =
        md.data_type == expected.md.data_type ||
        (!expected.is_on_host && data_type_bits(md.data_type) == data_type_bits(expected.md.data_type));
    if (!same_type)
        fail(zemm_invalid_arguments, "%s has data type %s, the primitive was made for %s",
             argument_name(arg).c_str(), data_type_name(md.data_type), data_type_name(expected.md.data_type));
    if (on_host)
        return;
    if (memory.engine.get() != (expected.engine ? expected.engine : engine))
        fail(zemm_invalid_arguments, "%s is a memory of another engine than the primitive's",
             argument_name(arg).c_str());
    if (expected.is_parameter) {
        if (md_size(md) < md_size(expected.md))
            fail(zemm_invalid_arguments, "%s has %s, the primitive needs %lld dense elements (%s)",
                 argument_name(arg).c_str(), md_sentence(md).c_str(), (long long)md_nelems(expected.md),
                 dims_text(expected.md).c_str());
    } else if (expected.is_scratchpad) {
        if (md_size(md) < md_size(expected.md))
            fail(zemm_invalid_arguments, "%s has %zu bytes, the primitive needs %zu",
                 argument_name(arg).c_str(), md_size(md), md_size(expected.md));
    } else if (!md_equal(md, expected.md) && !is_within(expected.md, md)) {
        memory_desc same = md;
        same.data_type = expected.md.data_type;
        if (!md_equal(same, expected.md) && !md_same_places(same, expected.md))
            fail(zemm_invalid_arguments, "%s has %s, the primitive was made for %s",
                 argument_name(arg).c_str(), md_sentence(md).c_str(), md_sentence(expected.md).c_str());
    }
}

// The memory of dst, against which those of the other arguments are checked.
struct dst_place {
    const memory_desc &md;
    const zemm_memory &memory;
    uintptr_t begin = reinterpret_cast<uintptr_t>(memory.parts[0].handle);
    size_t bytes = md_size(md);
};

// Whether the memory holds the elements of dst, each in dst's place.
bool is_dst(const memory_desc &md, const zemm_memory &memory, const dst_place &dst) {
    const auto start = [](const memory_desc &of, uintptr_t begin) {
        return begin * 8 + uint64_t(of.offset0) * data_type_bits(of.data_type);
    };
    if (start(md, reinterpret_cast<uintptr_t>(memory.parts[0].handle)) != start(dst.md, dst.begin))
        return false;
    memory_desc a = md, b = dst.md;
    a.offset0 = b.offset0 = 0;
    return md_equal(a, b) || md_same_places(a, b);
}

// Whether a buffer of the memory shares memory with dst's values. Executions only read dst's other buffers.
bool overlaps_dst(const memory_desc &md, const zemm_memory &memory, const dst_place &dst) {
    for (size_t i = 0; i < memory.parts.size(); ++i) {
        const auto begin = reinterpret_cast<uintptr_t>(memory.parts[i].handle);
        const bool meets = begin < dst.begin + dst.bytes && dst.begin < begin + md_size(md, int(i));
        if (meets && md_overlap(md, int(i), memory.parts[i].handle, dst.md, 0, dst.memory.parts[0].handle))
            return true;
    }
    return false;
}

void check_placement(const argument &expected, int arg, const zemm_memory &memory, const dst_place &dst) {
    if (expected.placed == placement::any || memory.parts.empty())
        return;
    // Parameters may be read by the strides of their memory.
    const memory_desc &md = expected.is_parameter ? memory.md : expected.md;
    const bool may_be_dst = expected.placed != placement::apart;
    if (may_be_dst && is_dst(md, memory, dst))
        return;
    if (expected.placed == placement::dst)
        fail(zemm_invalid_arguments,
             "%s must be the memory of ZEMM_ARG_DST, or one with its elements: the post-op is in place",
             argument_name(arg).c_str());
    if (overlaps_dst(md, memory, dst))
        fail(zemm_invalid_arguments, "%s and ZEMM_ARG_DST share memory: %s", argument_name(arg).c_str(),
             may_be_dst ? "either it has dst's data type, dims and strides and begins where dst does, or it "
                          "lies apart from dst"
                        : "it must lie apart from dst, which is written while it is read");
}

} // namespace

void add_parameters(argument_map &arguments, int flag, const quant_map &entries,
                    const std::function<const memory_desc &(int arg)> &tensor_of) {
    for (const auto &[arg, e] : entries) {
        const memory_desc md = e.is_on_host ? md_host_scalar(e.data_type) : md_of_quant(tensor_of(arg), e);
        arguments[flag | arg] = {.md = md,
                                 .is_on_host = e.is_on_host,
                                 .is_parameter = true,
                                 .is_result = e.mode != zemm_quantization_mode_static_sazp,
                                 .is_common = e.mask == 0};
    }
}

void add_number(argument_map &arguments, int arg, zemm_data_type_t dt, bool is_on_host) {
    const zemm_dim_t one = 1;
    const memory_desc md = is_on_host ? md_host_scalar(dt) : md_with_tag(1, &one, dt, zemm_a);
    arguments[arg] = {.md = md, .is_on_host = is_on_host, .is_parameter = true, .is_common = true};
}

int num_of_inputs(const argument_map &arguments) {
    int count = 0;
    for (const auto &[arg, argument] : arguments)
        count += arg == ZEMM_ARG_SRC || arg == ZEMM_ARG_WEIGHTS || names_a_tensor(arg);
    return count;
}

std::string argument_name(int arg) {
    std::string name;
    const auto take = [&](int flag, const char *flag_name) {
        if (!(arg & flag))
            return;
        name += std::string(flag_name) + " | ";
        arg &= ~flag;
    };
    take(ZEMM_ARG_ATTR_OFFSETS, "ZEMM_ARG_ATTR_OFFSETS");
    take(ZEMM_ARG_ATTR_SCALE_FACTORS, "ZEMM_ARG_ATTR_SCALE_FACTORS");
    take(ZEMM_ARG_ATTR_OFFSET_FACTORS, "ZEMM_ARG_ATTR_OFFSET_FACTORS");
    if (arg >= ZEMM_ARG_ATTR_MULTIPLE_POST_OP_BASE) {
        const int index = arg / ZEMM_ARG_ATTR_MULTIPLE_POST_OP_BASE - 1;
        name = text("ZEMM_ARG_ATTR_MULTIPLE_POST_OP(%d) | ", index);
        arg -= ZEMM_ARG_ATTR_MULTIPLE_POST_OP(index);
        switch (arg) {
        case ZEMM_ARG_SRC_1:
            return name + "ZEMM_ARG_SRC_1";
        case ZEMM_ARG_SRC_2:
            return name + "ZEMM_ARG_SRC_2";
        }
    }
    take(ZEMM_ARG_ATTR_SCALES, "ZEMM_ARG_ATTR_SCALES");
    take(ZEMM_ARG_ATTR_ZERO_POINTS, "ZEMM_ARG_ATTR_ZERO_POINTS");
    take(ZEMM_ARG_ATTR_PRECOMPUTED_REDUCTIONS, "ZEMM_ARG_ATTR_PRECOMPUTED_REDUCTIONS");
    switch (arg) {
    case ZEMM_ARG_SRC:
        return name + "ZEMM_ARG_SRC";
    case ZEMM_ARG_WEIGHTS:
        return name + "ZEMM_ARG_WEIGHTS";
    case ZEMM_ARG_DST:
        return name + "ZEMM_ARG_DST";
    case ZEMM_ARG_DYNAMIC_SCALE:
        return name + "ZEMM_ARG_DYNAMIC_SCALE";
    case ZEMM_ARG_DYNAMIC_ZERO_POINT:
        return name + "ZEMM_ARG_DYNAMIC_ZERO_POINT";
    case ZEMM_ARG_DYNAMIC_REDUCTIONS:
        return name + "ZEMM_ARG_DYNAMIC_REDUCTIONS";
    case ZEMM_ARG_BIAS:
        return name + "ZEMM_ARG_BIAS";
    case ZEMM_ARG_SCRATCHPAD:
        return name + "ZEMM_ARG_SCRATCHPAD";
    case ZEMM_ARG_ATTR_DROPOUT_OFFSET:
        return name + "ZEMM_ARG_ATTR_DROPOUT_OFFSET";
    case ZEMM_ARG_ATTR_DROPOUT_MASK:
        return name + "ZEMM_ARG_ATTR_DROPOUT_MASK";
    case ZEMM_ARG_ATTR_DROPOUT_PROBABILITY:
        return name + "ZEMM_ARG_ATTR_DROPOUT_PROBABILITY";
    case ZEMM_ARG_ATTR_DROPOUT_SEED:
        return name + "ZEMM_ARG_ATTR_DROPOUT_SEED";
    case ZEMM_ARG_ATTR_ROUNDING_SEED:
        return name + "ZEMM_ARG_ATTR_ROUNDING_SEED";
    default:
        return name + std::to_string(arg);
    }
}

std::vector<memory_map::entry>::iterator memory_map::place_of(int arg) {
    return std::ranges::find_if(entries_, [&](const entry &e) { return e.first >= arg; });
}

zemm_memory_t memory_map::find(int arg) const {
    const auto found = std::ranges::find(entries_, arg, &entry::first);
    return found == entries_.end() ? nullptr : found->second;
}

bool memory_map::add(int arg, zemm_memory_t memory) {
    const auto place = place_of(arg);
    if (place != entries_.end() && place->first == arg)
        return false;
    entries_.insert(place, {arg, memory});
    return true;
}

memory_map bind(const argument_map &arguments, zemm_engine_t engine, bool empty,
                std::span<const zemm_exec_arg_t> passed) {
    memory_map bound(passed.size());
    for (const auto &[arg, memory] : passed) {
        if (!memory)
            continue;
        const auto expected = arguments.find(arg);
        if (expected == arguments.end()) {
            if (!md_is_zero(memory->md) && (names_a_tensor(arg) || arg >= ZEMM_ARG_ATTR_OFFSETS))
                fail(zemm_invalid_arguments, "%s is surplus: the primitive has no such argument",
                     argument_name(arg).c_str());
            continue; // skip arguments that the primitive does not have, as oneDNN does
        }
        if (!bound.add(arg, memory))
            fail(zemm_invalid_arguments, "%s is passed twice", argument_name(arg).c_str());
        check_memory(expected->second, arg, *memory, engine);
    }
    for (const auto &[arg, expected] : arguments) {
        const zemm_memory *found = bound.find(arg);
        if (!found)
            fail(zemm_invalid_arguments, "%s is missing", argument_name(arg).c_str());
        const auto &parts = found->parts; // a host scalar has none
        if (empty || (expected.is_on_host && parts.empty()))
            continue;
        const memory_desc &md = found->md;
        bool has_data = !parts.empty();
        for (size_t i = 0; i < parts.size(); ++i)
            has_data = has_data && (parts[i].handle || (parts.size() > 1 && md_size(md, int(i)) == 0));
        if (has_data)
            continue;
        fail(zemm_invalid_arguments, "%s has no data: its memory was created with ZEMM_MEMORY_NONE",
             argument_name(arg).c_str());
    }
    const auto expected_dst = arguments.find(ZEMM_ARG_DST);
    if (empty || expected_dst == arguments.end())
        return bound;
    const dst_place dst{expected_dst->second.md, *bound.at(ZEMM_ARG_DST)};
    for (const auto &[arg, expected] : arguments)
        check_placement(expected, arg, *bound.at(arg), dst);
    return bound;
}

namespace {

// The value of a host scalar as the kernels read it: a scale as f32, a zero point as s32 or f32.
float scalar_as_float(zemm_data_type_t dt, const void *scalar) {
    uint16_t half;
    float value;
    switch (dt) {
    case zemm_f32:
        std::memcpy(&value, scalar, 4);
        return value;
    case zemm_bf16:
        std::memcpy(&half, scalar, 2);
        return bf16_as_float(half);
    case zemm_f16:
        std::memcpy(&half, scalar, 2);
        return f16_as_float(half);
    default:
        fail(zemm_unimplemented, "a host scalar of data type %s is not read as f32", data_type_name(dt));
    }
}

int64_t scalar_as_int(zemm_data_type_t dt, const void *scalar) {
    int32_t value;
    int64_t wide;
    switch (dt) {
    case zemm_s8:
        return *static_cast<const int8_t *>(scalar);
    case zemm_u8:
        return *static_cast<const uint8_t *>(scalar);
    case zemm_s32:
        std::memcpy(&value, scalar, 4);
        return value;
    case zemm_s64:
        std::memcpy(&wide, scalar, 8);
        return wide;
    default:
        fail(zemm_unimplemented, "a host scalar of data type %s is not read as an integer",
             data_type_name(dt));
    }
}

} // namespace

const zemm_memory *bound_arguments::find(int arg) const {
    return memories.find(arg);
}

void *bound_arguments::pointer(int arg) const {
    const zemm_memory *memory = find(arg);
    return memory && !memory->parts.empty() ? memory->parts[0].handle : nullptr;
}

const void *bound_arguments::host_value(int arg) const {
    const auto asked = arguments.find(arg);
    if (asked == arguments.end() || !asked->second.is_on_host)
        return nullptr;
    const zemm_memory *memory = find(arg);
    return memory->parts.empty() ? memory->scalar : memory->parts[0].handle;
}

float bound_arguments::host_f32(int arg) const {
    return scalar_as_float(arguments.at(arg).md.data_type, host_value(arg));
}

int32_t bound_arguments::host_zero_point(int arg) const {
    const zemm_data_type_t dt = arguments.at(arg).md.data_type;
    return is_floating(dt) ? std::bit_cast<int32_t>(host_f32(arg)) : int32_t(host_s64(arg));
}

int64_t bound_arguments::host_s64(int arg) const {
    return scalar_as_int(arguments.at(arg).md.data_type, host_value(arg));
}

} // namespace zemm
