// SPDX-License-Identifier: Apache-2.0
//
// The meaning of the ids of a module. The instructions that define them are not checked yet: they
// may be shorter than they should be.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <memory_resource>
#include <unordered_map>
#include <unordered_set>

#include "spirv_words.h"

namespace ze_cpu::spirv {

inline constexpr uint16_t first_vendor_op = 4096; // lower numbers come with versions of SPIR-V

struct Id {
    enum Kind : uint8_t { undefined, type, constant, value, function, label, other } kind = undefined;
    uint16_t op = 0;      // of the instruction that defines it
    uint32_t type_id = 0; // of constants, values and functions
    const uint32_t *words = nullptr;
    uint32_t count = 0;       // of words
    uint32_t in_function = 0; // the function that it is defined in, or 0; a function is in itself
    uint32_t in_block = 0;    // the block that it is defined in, counted through the module, or 0

    /// A word of the defining instruction; 0 if it is not so long.
    uint32_t word(uint32_t n) const { return n < count ? words[n] : 0; }
};

struct Ids {
    uint32_t bound = 0;
    /// False if the module has instructions that this driver does not know: they may define any id.
    bool all_known = true;
    std::pmr::monotonic_buffer_resource memory; // one allocation for many ids
    std::pmr::unordered_map<uint32_t, Id> by_number{&memory};
    std::unordered_set<uint32_t> forward_pointers; // types that may be used before they are defined

    const Id &operator[](uint32_t n) const {
        static const Id none;
        auto found = by_number.find(n);
        return found == by_number.end() ? none : found->second;
    }
    /// Whether the id is of one of these kinds. True also if an unknown instruction may define it.
    bool is(uint32_t n, std::initializer_list<Id::Kind> kinds) const {
        if (n == 0 || n >= bound)
            return false;
        const Id::Kind kind = (*this)[n].kind;
        return kind == Id::undefined ? !all_known
                                     : std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
    }
    bool is_defined(uint32_t n) const {
        return is(n, {Id::type, Id::constant, Id::value, Id::function, Id::label, Id::other});
    }
    bool is_type(uint32_t n) const { return is(n, {Id::type}); }
    bool is_value(uint32_t n) const { return is(n, {Id::constant, Id::value}); }
    bool is_type_of(uint32_t n, uint16_t op) const {
        return is_type(n) && ((*this)[n].op == op || (*this)[n].kind == Id::undefined);
    }
    uint32_t type_of(uint32_t value) const { return (*this)[value].type_id; }
    /// The type that a pointer type points to; 0 if it is not known.
    uint32_t pointee(uint32_t type) const {
        return (*this)[type].op == spv::OpTypePointer ? (*this)[type].word(3) : 0;
    }
    /// Whether two types are the same, as far as they are known. Compares what pointers point to,
    /// because some translators define a pointer type twice.
    bool same(uint32_t a, uint32_t b) const {
        for (int depth = 0; a != b && a && b && depth < 16; depth++) {
            const Id &first = (*this)[a], &second = (*this)[b];
            if (first.kind == Id::undefined || second.kind == Id::undefined)
                return true;
            if (first.op != spv::OpTypePointer || second.op != first.op || second.word(2) != first.word(2))
                return false;
            a = first.word(3), b = second.word(3);
        }
        return true;
    }
};

} // namespace ze_cpu::spirv
