// SPDX-License-Identifier: Apache-2.0
//
// Parses the part of the Itanium mangling that OpenCL builtins use: numbers, vectors, pointers with
// an address space and qualifiers, substitutions. Names come from modules, so they may contain
// anything.
#include "mangled_name.h"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace ze_cpu {
namespace {

constexpr size_t longest_name = 300, longest_vector = 16;

class Parser {
public:
    explicit Parser(const std::string &symbol) : at_(symbol.c_str()), end_(at_ + symbol.size()) {}

    std::optional<MangledName> run() {
        MangledName result;
        uint32_t length = 0;
        if (end_ - at_ > ptrdiff_t(longest_name) || !skip("_Z") || !number(length) || length == 0 ||
            length > size_t(end_ - at_))
            return {};
        result.name.assign(at_, length);
        at_ += length;
        while (at_ < end_) {
            MangledType type;
            if (!parameter(type))
                return {};
            result.parameters.push_back(type);
        }
        return result;
    }

private:
    bool skip(const char *text) {
        const size_t length = std::strlen(text);
        if (size_t(end_ - at_) < length || std::strncmp(at_, text, length) != 0)
            return false;
        at_ += length;
        return true;
    }
    bool number(uint32_t &value) {
        const char *first = at_;
        for (value = 0; at_ < end_ && *at_ >= '0' && *at_ <= '9'; at_++)
            if ((value = value * 10 + uint32_t(*at_ - '0')) > longest_name)
                return false;
        return at_ > first;
    }

    bool parameter(MangledType &type) {
        if (skip("S"))
            return substitution(type);
        if (!skip("P"))
            return value(type);
        // The qualified type and the pointer to it each count for substitutions.
        bool qualified = false;
        for (;; qualified = true) {
            if (skip("K") || skip("V"))
                continue;
            if (!skip("U3AS"))
                break;
            if (!number(type.address_space))
                return false;
        }
        const uint32_t space = type.address_space;
        if (!value(type) || type.components != 1)
            return false;
        if (qualified)
            // A qualified type is never a parameter by itself.
            seen_.push_back({MangledType::pointer, '?', 0, 0});
        type.kind = MangledType::pointer;
        type.address_space = space;
        seen_.push_back(type);
        return true;
    }

    bool value(MangledType &type) {
        type = {};
        const bool is_vector = skip("Dv");
        if (is_vector && (!number(type.components) || !skip("_") || type.components < 2 ||
                          type.components > longest_vector))
            return false;
        if (skip("Dh"))
            type.letter = 'H';
        else if (at_ < end_ && std::strchr("vcahstijlmfd", *at_) && *at_)
            type.letter = *at_++;
        else
            return false;
        if (is_vector)
            seen_.push_back(type);
        return true;
    }

    bool substitution(MangledType &type) {
        size_t index = 0;
        if (!skip("_")) {
            for (; at_ < end_ && *at_ != '_'; at_++) {
                const bool digit = *at_ >= '0' && *at_ <= '9';
                if ((!digit && (*at_ < 'A' || *at_ > 'Z')) || index > longest_name)
                    return false;
                index = index * 36 + size_t(digit ? *at_ - '0' : *at_ - 'A' + 10);
            }
            if (!skip("_"))
                return false;
            index++;
        }
        if (index >= seen_.size() || seen_[index].letter == '?')
            return false;
        type = seen_[index];
        return true;
    }

    const char *at_, *end_;
    std::vector<MangledType> seen_;
};

} // namespace

std::optional<MangledName> demangle(const std::string &symbol) {
    return Parser(symbol).run();
}

const NumberType *number_type(char letter) {
    static constexpr NumberType types[] = {
        {'c', "char", 8},    {'a', "char", 8},        {'h', "uchar", 8},        {'s', "short", 16},
        {'t', "ushort", 16}, {'i', "int", 32},        {'j', "uint", 32},        {'l', "long", 64},
        {'m', "ulong", 64},  {'H', "half", 16, true}, {'f', "float", 32, true}, {'d', "double", 64, true},
    };
    auto *found = std::ranges::find(types, letter, &NumberType::letter);
    return found == std::end(types) ? nullptr : found;
}

uint32_t bits_of(char letter) {
    const NumberType *type = number_type(letter);
    return type ? type->bits : 0;
}

const char *unsigned_of(uint32_t bits) {
    return bits == 8 ? "uchar" : bits == 16 ? "ushort" : bits == 32 ? "uint" : "ulong";
}

const char *scalar_name(char letter) {
    return number_type(letter)->name;
}

std::string type_name(const MangledType &type) {
    return scalar_name(type.letter) + (type.components > 1 ? std::to_string(type.components) : "");
}

std::string signature_of(const MangledType &type) {
    const NumberType &number = *number_type(type.letter);
    return (number.is_float ? "f" : "i") + std::to_string(number.bits) +
           (type.components > 1 ? "x" + std::to_string(type.components) : "");
}

bool is_one_of(uint32_t value, std::initializer_list<uint32_t> values) {
    return std::ranges::find(values, value) != values.end();
}

} // namespace ze_cpu
