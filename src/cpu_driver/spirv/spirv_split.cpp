// SPDX-License-Identifier: Apache-2.0
//
// Splits SPIR-V instructions into their operands by the tables of the grammar.
#include <algorithm>
#include <cstring>

#include "spirv_grammar.h"

namespace ze_cpu::spirv {
namespace {

// Enumerants and mask bits from these numbers on belong to vendors. Lower ones come with versions
// of SPIR-V.
constexpr uint32_t first_vendor_value = 4096, first_vendor_bit = 16;

template <class Row, class Value>
const Row *find(const Row *first, size_t count, Value Row::*key, uint32_t value) {
    const Row *last = first + count;
    const Row *found =
        std::lower_bound(first, last, value, [key](const Row &row, uint32_t v) { return row.*key < v; });
    return found != last && found->*key == value ? found : nullptr;
}

class Splitter {
public:
    Splitter(const Instruction &i, const Surroundings &around, std::vector<Part> &parts)
        : i_(i), around_(around), parts_(parts) {}

    const char *run(const InstructionShape &shape) {
        list(shape.first, shape.count);
        // Extensions add operands to types.
        if (!is_over() && at_ < i_.count && !(around_.has_extensions && shape.group == Group::type))
            wrong_ = "has too many operands";
        return wrong_;
    }

private:
    bool is_over() const { return wrong_ || is_unknown_; }

    void list(uint32_t first, uint32_t count) {
        const uint32_t end = first + count;
        for (uint32_t n = first, last; n < end && !is_over(); n = last) {
            last = n + 1;
            while (last < end && operands[last].times == Times::with_last)
                last++;
            const Times times = operands[n].times;
            if (times == Times::once || (times == Times::optional && at_ < i_.count))
                together(n, last);
            while (times == Times::any && at_ < i_.count && !is_over())
                together(n, last);
        }
    }

    void together(uint32_t first, uint32_t last) {
        for (uint32_t n = first; n < last && !is_over(); n++)
            one(operands[n].kind);
    }

    void one(uint8_t kind) {
        if (at_ >= i_.count) {
            wrong_ = "is too short";
            return;
        }
        parts_.push_back({kind, in_enumerant_, at_});
        const uint32_t word = i_.word[at_];
        switch (kind) {
        case string:
            text();
            break;
        case number:
            at_ += around_.number_words;
            if (around_.number_words == 0 || at_ > i_.count)
                wrong_ = "has a number of the wrong width";
            break;
        case opcode:
            at_++;
            embedded(word);
            break;
        case set_opcode:
            at_++;
            of_set(word);
            break;
        default:
            at_++;
            if (kind >= first_enum)
                value(enum_kinds[kind - first_enum], word);
        }
    }

    /// A string: bytes up to a zero. The rest of the last word is also zeros.
    void text() {
        const char *begin = reinterpret_cast<const char *>(i_.word + at_);
        const size_t room = (i_.count - at_) * 4, length = strnlen(begin, room), end = (length / 4 + 1) * 4;
        if (length == room || std::any_of(begin + length, begin + end, [](char c) { return c != 0; }))
            wrong_ = "has a string without an end";
        else
            at_ += uint32_t(end / 4);
    }

    void embedded(uint32_t op) {
        const InstructionShape *shape = find(instructions, instruction_count, &InstructionShape::op, op);
        if (shape && shape->count >= 2 && operands[shape->first].kind == result_type &&
            operands[shape->first + 1].kind == result)
            list(shape->first + 2u, shape->count - 2u);
        else
            unknown(true);
    }

    /// The operands of an instruction of a set. Only the first set, OpenCL.std, is checked
    /// strictly: translators write debug instructions with more or fewer operands than the grammar
    /// says.
    void of_set(uint32_t op) {
        const InstructionSet *set = std::find_if(
            sets, sets + set_count, [this](const InstructionSet &s) { return around_.set == s.name; });
        if (set == sets + set_count) {
            // Non-semantic instructions have nothing but ids.
            while (around_.set.rfind("NonSemantic.", 0) == 0 && at_ < i_.count)
                one(id);
            is_unknown_ = true;
            return;
        }
        const InstructionShape *shape =
            find(set_instructions + set->first, set->count, &InstructionShape::op, op);
        if (shape)
            list(shape->first, shape->count);
        else
            unknown(true);
        if (set != sets && (wrong_ || at_ < i_.count))
            wrong_ = nullptr, is_unknown_ = true;
    }

    void value(const EnumKind &kind, uint32_t value) {
        if (kind.form == EnumKind::closed)
            own(kind, value, value >= first_vendor_value);
        for (uint32_t bit = 0; kind.form == EnumKind::mask && bit < 32 && !is_over(); bit++)
            if (value >> bit & 1)
                own(kind, 1u << bit, bit >= first_vendor_bit);
    }

    /// Reads the operands that follow an enumerant.
    void own(const EnumKind &kind, uint32_t value, bool may_be_newer) {
        in_enumerant_ = true;
        if (const Enumerant *found = find(enumerants + kind.first, kind.count, &Enumerant::value, value))
            list(found->first, found->count);
        else
            unknown(may_be_newer);
        in_enumerant_ = false;
    }

    /// The grammar lacks this number, so what follows it is not known either.
    void unknown(bool may_be_newer) {
        if (may_be_newer && around_.has_extensions)
            is_unknown_ = true;
        else
            wrong_ = "has an operand that does not exist";
    }

    const Instruction &i_;
    const Surroundings &around_;
    std::vector<Part> &parts_;
    uint32_t at_ = 1;
    const char *wrong_ = nullptr;
    bool is_unknown_ = false, in_enumerant_ = false; // is_unknown_: the words from at_ on
};

} // namespace

const InstructionShape *shape_of(uint16_t op) {
    return find(instructions, instruction_count, &InstructionShape::op, op);
}

const char *split(const Instruction &i, const InstructionShape &shape, const Surroundings &surroundings,
                  std::vector<Part> &parts) {
    parts.clear();
    return Splitter(i, surroundings, parts).run(shape);
}

} // namespace ze_cpu::spirv
