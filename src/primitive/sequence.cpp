// SPDX-License-Identifier: Apache-2.0
#include "primitive/sequence.hpp"

#include <algorithm>
#include <cstring>

#include "common/error.hpp"
#include "primitive/primitive_cache.hpp"
#include "primitive/spirv.hpp"

namespace zemm {

namespace {

constexpr size_t cache_line = 64; // bytes

size_t aligned(size_t value) {
    return (value + cache_line - 1) / cache_line * cache_line;
}

// The scratchpad of an execution: the library's, or the caller's; nullptr if the primitive needs none.
char *scratchpad_of(const zemm_primitive_desc &pd, ze::stream &stream, const bound_arguments &bound) {
    if (pd.scratchpad_size == 0)
        return nullptr;
    if (md_is_zero(pd.scratchpad))
        return static_cast<char *>(stream.scratchpad(pd.scratchpad_size));
    return reinterpret_cast<char *>(aligned(bound.address(ZEMM_ARG_SCRATCHPAD)));
}

ze::kernel_source source_of(const launch &l) {
    return {l.plan.kernel, l.plan.entry ? l.plan.entry : l.plan.kernel, l.plan.constants, l.flags};
}

// Looks names up for one execution.
class lookup {
public:
    lookup(const bound_arguments &bound, char *scratchpad, const void *table)
        : bound_(bound), scratchpad_(scratchpad), table_(table) {}

    const void *address(const operand &o) const {
        switch (o.what) {
        case operand::address: {
            const zemm_memory *memory = bound_.find(o.arg);
            return memory && o.at < memory->parts.size() ? memory->parts[o.at].handle : nullptr;
        }
        case operand::scratchpad:
            return scratchpad_ + o.at;
        default:
            return table_;
        }
    }

    void fill(const host_values &values, unsigned char *to) const {
        std::memcpy(to, values.fixed.data.get(), values.fixed.size);
        for (const host_values::field &f : values.fields) {
            const auto put = [&](auto value) { std::memcpy(to + f.at, &value, sizeof value); };
            switch (f.from.what) {
            case operand::host_f32:
                put(bound_.host_f32(f.from.arg));
                break;
            case operand::host_zero_point:
                put(bound_.host_zero_point(f.from.arg));
                break;
            case operand::host_s64:
                put(bound_.host_s64(f.from.arg));
                break;
            default:
                put(reinterpret_cast<uint64_t>(address(f.from)));
            }
        }
    }

private:
    const bound_arguments &bound_;
    char *const scratchpad_;
    const void *const table_;
};

// The arguments of a launch. It holds what they point to.
class launch_arguments {
public:
    launch_arguments(const launch &l, const void *block, const lookup &names) {
        for (const operand &o : l.operands) {
            if (o.what == operand::none)
                break;
            arguments_[count_] = of(l, o, block, names);
            ++count_;
        }
    }
    std::span<const ze::kernel_argument> all() const { return {arguments_, count_}; }

private:
    ze::kernel_argument of(const launch &l, const operand &o, const void *block, const lookup &names) {
        if (o.what == operand::local)
            return {o.at, nullptr};
        if (o.what == operand::values) {
            const host_values &values = l.values[o.at];
            if (values.fields.empty())
                return {values.fixed.size, values.fixed.data.get()};
            names.fill(values, values_[o.at]);
            return {values.fixed.size, values_[o.at]};
        }
        const void *address = o.what == operand::block ? block : names.address(o);
        // A parameter without data is not read, but GPU drivers want an address.
        addresses_[count_] = address ? address : block;
        return {sizeof addresses_[count_], &addresses_[count_]};
    }

    static constexpr size_t most = std::tuple_size_v<decltype(launch::operands)>;
    size_t count_ = 0;
    ze::kernel_argument arguments_[most];
    const void *addresses_[most];
    alignas(8) unsigned char values_[std::tuple_size_v<decltype(launch::values)>][host_values::most_bytes];
};

std::array<uint32_t, 3> group_count(const launch &l, uint32_t times) {
    std::array<uint32_t, 3> count = l.plan.group_count;
    if (l.is_repeated)
        count[0] = work_groups(zemm_dim_t(count[0]) * times, 1, "M x N");
    return count;
}

} // namespace

size_t scratch::take(size_t bytes) {
    const size_t at = aligned(size_);
    size_ = at + bytes;
    return at;
}

// The caller's scratchpad may start anywhere, so there is room to align it.
memory_desc scratchpad_md(const zemm_primitive_attr &attr, size_t size) {
    if (attr.scratchpad_mode != zemm_scratchpad_mode_user || size == 0)
        return {};
    const zemm_dim_t dim = zemm_dim_t(size + cache_line - 1);
    return md_with_tag(1, &dim, zemm_u8, zemm_a);
}

launch launch::within(const std::map<int, operand> &replaced, size_t scratchpad_at) const {
    launch made = *this;
    const auto replace = [&](operand &o) {
        if (o.what == operand::scratchpad)
            o.at += scratchpad_at;
        const auto found = o.what == operand::address ? replaced.find(o.arg) : replaced.end();
        if (found != replaced.end())
            o = found->second;
    };
    for (operand &o : made.operands)
        replace(o);
    for (host_values &struct_by_value : made.values)
        for (host_values::field &f : struct_by_value.fields)
            replace(f.from);
    return made;
}

void sequence::insert(size_t place, launch l) {
    order_.insert(order_.begin() + ptrdiff_t(place), launches_.size());
    launches_.push_back(std::move(l));
}

void sequence::require_alignment(int arg, size_t bytes) {
    if (bytes > 1)
        alignments_.push_back({arg, bytes});
}

void sequence::set_flags(const char *flags, size_t from) {
    for (size_t i = from; i < launches_.size(); ++i)
        launches_[i].flags = flags;
}

sequence sequence::within(const std::map<int, operand> &replaced, size_t scratchpad_at) const {
    sequence made = *this;
    for (launch &l : made.launches_)
        l = l.within(replaced, scratchpad_at);
    std::erase_if(made.alignments_, [&](const alignment &a) { return replaced.contains(a.arg); });
    return made;
}

std::vector<ze::kernel_source> sequence::sources() const {
    std::vector<ze::kernel_source> all;
    for (const launch &l : launches_)
        all.push_back(source_of(l));
    return all;
}

compiled_sequence::compiled_sequence(std::shared_ptr<ze::device> dev, const sequence &made)
    : cached(std::move(dev)), launches_(made.launches_.size()), alignments_(made.alignments_) {
    from_disk = !made.empty();
    std::vector<ready *> listed(launches_.size());
    for (size_t i = 0; i < launches_.size(); ++i)
        listed[made.order_[i]] = &launches_[i];
    for (size_t i = 0; i < listed.size(); ++i) {
        ready &r = *listed[i];
        r.launch = made.launches_[i];
        const ze::kernel_source source = source_of(r.launch);
        r.kernel =
            ze::get_kernel(device, find_spirv(source.name), source.entry, source.constants, source.flags);
        from_disk = from_disk && r.kernel->from_disk();
        shared_bytes &bytes = r.launch.plan.block;
        if (bytes.data)
            r.block = ze::copy_for_kernels(device, bytes.data.get(), bytes.size);
        r.block_address = r.block ? r.block->data() : listed[0]->block_address;
        bytes = {};
    }
    if (!made.empty())
        name_ = made.launches_.front().plan.kernel;
}

// Refuses an execution before anything is submitted.
void compiled_sequence::check(const bound_arguments &bound, const brought &more) const {
    for (const sequence::alignment &a : alignments_) {
        const size_t behind = size_t(bound.address(a.arg)) % a.bytes;
        if (behind != 0)
            fail(zemm_invalid_arguments,
                 "%s begins %zu bytes behind a multiple of %zu: %s reads it in blocks, which have to begin "
                 "at one; move the data, or take the next implementation",
                 argument_name(a.arg).c_str(), behind, a.bytes, name_);
    }
    if (more.times > 1)
        for (const ready &r : launches_)
            group_count(r.launch, more.times);
}

// Tells the stream which weights an execution has read, with their scales and the like. The layers of a model
// have the same order for each token.
static void read_ahead(ze::stream &stream, const bound_arguments &bound) {
    constexpr int tensors =
        511; // the bits of ZEMM_ARG_... that name a tensor; those of attributes are higher
    std::array<ze::stream::range, ze::stream::most_ranges> ranges;
    size_t count = 0;
    for (const auto &[arg, memory] : bound.memories)
        if ((arg & tensors) == ZEMM_ARG_WEIGHTS && memory->parts.size() == 1 && count < ranges.size())
            ranges[count++] = {memory->parts[0].handle, md_size(memory->md)};
    stream.has_read({ranges.data(), count});
}

void compiled_sequence::run(const std::shared_ptr<const compiled_sequence> &self, ze::stream &stream,
                            const bound_arguments &bound, char *scratchpad, const brought &more,
                            std::span<const ze_event_handle_t> waits) {
    const auto keep = [&] {
        stream.keep(self);
        keep_buffers(stream, bound.memories);
    };
    // All or none, so that the threads that share brief launches do not wait for more beside others that
    // compute.
    const bool is_brief =
        more.times == 1 && std::ranges::all_of(self->launches_, [&](const ready &r) {
            return launch_plan::is_brief(r.launch.plan.operations, self->device->compute_units);
        });
    self->check(bound, more);
    keep();
    const lookup names(bound, scratchpad, more.table);
    for (const ready &r : self->launches_) {
        const launch_arguments arguments(r.launch, r.block_address, names);
        stream.launch(*r.kernel, r.launch.plan.group_size, group_count(r.launch, more.times), arguments.all(),
                      waits, is_brief);
        waits = {};
        if (!r.launch.then)
            continue;
        stream.wait();
        r.launch.then(*self->device, scratchpad);
        keep(); // the wait has ended what it kept
    }
    if (self->device->kind == zemm_cpu)
        read_ahead(stream, bound);
}

void sequence_primitive::submit(ze::stream &stream, const memory_map &memories, const brought &more,
                                std::span<const ze_event_handle_t> waits) const {
    const bound_arguments bound{memories, pd->arguments};
    compiled_sequence::run(compiled_, stream, bound, scratchpad_of(*pd, stream, bound), more, waits);
}

std::shared_ptr<const compiled_sequence> get_sequence(const zemm_primitive_desc &pd, cache_result &found,
                                                      const std::function<sequence()> &make) {
    return std::static_pointer_cast<const compiled_sequence>(get_compiled(
        pd, found, [&] { return std::make_shared<const compiled_sequence>(pd.engine->device, make()); }));
}

} // namespace zemm
