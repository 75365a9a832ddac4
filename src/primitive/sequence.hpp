// SPDX-License-Identifier: Apache-2.0
// The launches of a primitive. Each names what its kernel gets, and an execution looks the names up. Here is
// all that a list of launches needs: its scratchpad, its modules, its kernels and argument blocks on the
// device, and its execution.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "common/attr.hpp"
#include "primitive/launch_plan.hpp"
#include "primitive/primitive_cache.hpp"
#include "primitive/primitive_desc.hpp"
#include "ze/buffer.hpp"

namespace zemm {

// Deals out a scratchpad. Each buffer begins at a multiple of a cache line.
class scratch {
public:
    // Takes so many bytes. Returns their offset.
    size_t take(size_t bytes);
    size_t size() const { return size_; }

private:
    size_t size_ = 0;
};

// The descriptor of a scratchpad of size bytes that the caller passes; a zero descriptor if it passes none.
memory_desc scratchpad_md(const zemm_primitive_attr &attr, size_t size);

// The value of a kernel's parameter, or of a field of a struct.
struct operand {
    enum kind : uint8_t {
        none,
        address,    // of a buffer of the argument's memory
        scratchpad, // an address in the scratchpad
        block,      // the address of the launch's argument block, or of the main launch's if it has none
        table,      // the address of the table that an execution brings along
        values,     // a struct by value
        local,      // local memory of the work-group
        // The value of an argument that is on the host, in a field of a struct:
        host_f32,        // as f32
        host_zero_point, // as s32, or the bits of an f32
        host_s64,        // as s64
    } what = none;
    int arg = 0;   // ZEMM_ARG_...
    size_t at = 0; // address: the buffer's index; scratchpad: the offset; values: the index; local: the bytes
};

inline operand address_of(int arg, int part = 0) {
    return {operand::address, arg, size_t(part)};
}
inline operand in_scratchpad(size_t at) {
    return {operand::scratchpad, 0, at};
}
inline operand host_value(operand::kind as, int arg) {
    return {as, arg};
}
constexpr operand block_address = {operand::block}, table_address = {operand::table};
constexpr operand first_values = {operand::values, 0, 0}, second_values = {operand::values, 0, 1};

// A struct that a kernel gets by value. An execution fills the fields.
struct host_values {
    static constexpr size_t most_bytes = 768;
    struct field {
        size_t at; // bytes in the struct
        operand from;
    };
    shared_bytes fixed; // the struct before that
    std::vector<field> fields;
};

// Makes the host_values of a struct.
template <typename T> class values_of {
public:
    static_assert(sizeof(T) <= host_values::most_bytes);

    T fixed = {}; // the struct without the fields that an execution fills

    // member: of `fixed`
    void set(const uint64_t &member, const operand &from) { add(&member, from); }
    void set(const int64_t &member, const operand &from) { add(&member, from); }
    void set(const float &member, const operand &from) { add(&member, from); }
    void set(const int32_t &member, const operand &from) { add(&member, from); }
    // A scale, which has a float as its value, or a zero point. It is in `value` if it is on the host, else
    // its address is in `tensor`. Nothing is set without an entry.
    template <typename V>
    void set(const quant_entry *entry, int arg, const uint64_t &tensor, const V &value) {
        constexpr auto kind = std::is_same_v<V, float> ? operand::host_f32 : operand::host_zero_point;
        if (entry && entry->is_on_host)
            set(value, host_value(kind, arg));
        else if (entry)
            set(tensor, address_of(arg));
    }
    host_values made() const { return {to_bytes(fixed), fields_}; }

private:
    void add(const void *member, const operand &from) {
        const auto begin = reinterpret_cast<const char *>(&fixed);
        fields_.push_back({size_t(static_cast<const char *>(member) - begin), from});
    }
    std::vector<host_values::field> fields_;
};

struct launch {
    launch_plan plan;
    std::array<operand, 6> operands = {}; // the kernel's parameters in order, then none
    std::array<host_values, 2> values = {};
    bool is_repeated = false; // as often as an execution says
    const char *flags = "";   // build flags
    // The host calls it between this launch and the next one, once this one has run. May be empty.
    std::function<void(ze::device &, char *scratchpad)> then = nullptr;

    // This launch with other operands in the places of some arguments, and the scratchpad at an offset.
    launch within(const std::map<int, operand> &replaced, size_t scratchpad_at) const;
};

class sequence {
public:
    bool empty() const { return launches_.empty(); }

    // Launches are listed in the order of these calls, the main one first: its kernel names the
    // implementation. They run in the order of their places.
    void add_first(launch l) { insert(0, std::move(l)); }
    void add_last(launch l) { insert(launches_.size(), std::move(l)); }
    void insert(size_t place, launch l);
    // The argument's data must begin at a multiple of so many bytes.
    void require_alignment(int arg, size_t bytes);
    // The build flags of all launches from the index on, in the order of the list.
    void set_flags(const char *flags, size_t from = 0);

    // Does so for all launches: they become a part of another sequence.
    sequence within(const std::map<int, operand> &replaced, size_t scratchpad_at) const;

    const std::vector<launch> &launches() const { return launches_; }
    std::vector<ze::kernel_source> sources() const;

private:
    friend class compiled_sequence;
    struct alignment {
        int arg;
        size_t bytes;
    };
    std::vector<launch> launches_;
    std::vector<size_t> order_; // indices of launches_ in the order in which they run
    std::vector<alignment> alignments_;
};

// The inputs of an execution of a sequence.
struct brought {
    const void *table = nullptr;
    uint32_t times = 1; // how often work-groups along the first dimension of repeated launches repeat
};

// A sequence with its kernels and argument blocks on the device. Primitives share it through the primitive
// cache.
class compiled_sequence : public cached {
public:
    compiled_sequence(std::shared_ptr<ze::device> device, const sequence &made);

    // Submits the launches, the first one after the events in waits. Throws invalid_arguments before that if
    // data are not aligned. The stream keeps what they use. self: owns the sequence.
    static void run(const std::shared_ptr<const compiled_sequence> &self, ze::stream &stream,
                    const bound_arguments &bound, char *scratchpad, const brought &more,
                    std::span<const ze_event_handle_t> waits);

private:
    struct ready {
        std::shared_ptr<ze::kernel> kernel;
        std::unique_ptr<ze::buffer> block;
        const void *block_address;
        struct launch launch;
    };
    void check(const bound_arguments &bound, const brought &more) const;

    std::vector<ready> launches_; // in the order in which they run
    std::vector<sequence::alignment> alignments_;
    const char *name_ = nullptr; // of the main kernel
};

// A primitive that runs a sequence.
class sequence_primitive : public static_primitive {
public:
    sequence_primitive(std::unique_ptr<const zemm_primitive_desc> desc,
                       std::shared_ptr<const compiled_sequence> compiled, copy_maker *make_copy)
        : static_primitive(std::move(desc), make_copy), compiled_(std::move(compiled)) {}

    void run(ze::stream &stream, const memory_map &memories, const values *,
             std::span<const ze_event_handle_t> waits) const override {
        submit(stream, memories, {}, waits);
    }

protected:
    void submit(ze::stream &stream, const memory_map &memories, const brought &more,
                std::span<const ze_event_handle_t> waits) const;

private:
    const std::shared_ptr<const compiled_sequence> compiled_;
};

// Finds the descriptor's compiled sequence in the primitive cache. If it is not there, compiles what make()
// returns. found: set to where the kernels came from.
std::shared_ptr<const compiled_sequence> get_sequence(const zemm_primitive_desc &pd, cache_result &found,
                                                      const std::function<sequence()> &make);

} // namespace zemm
