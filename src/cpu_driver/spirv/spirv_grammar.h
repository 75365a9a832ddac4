// SPDX-License-Identifier: Apache-2.0
//
// The shapes of SPIR-V instructions, in tables that spirv_grammar.py makes from Khronos'
// machine-readable grammar when the driver is built. A module may be newer than that grammar: if it
// declares extensions, unknown parts are accepted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "spirv_words.h"

namespace ze_cpu::spirv {

/// The kind of an operand. Kind first_enum + n is the enumeration in row n of enum_kinds.
enum Kind : uint8_t {
    result_type,
    result,
    id,         // any other id
    integer_id, // scopes and memory semantics
    literal,
    string,
    number,     // literal, as wide as its type
    opcode,     // of OpSpecConstantOp: the operands of that instruction follow
    set_opcode, // of OpExtInst: the operands of that instruction of the set follow
    first_enum,
};

// with_last: each time that the operand before it occurs
enum class Times : uint8_t { once, optional, any, with_last };

struct Operand {
    uint8_t kind;
    Times times;
};

/// Classes of instructions whose ids are checked alike.
enum class Group : uint8_t {
    other,
    type,      // defines a type
    constant,  // defines a constant
    on_values, // belongs in a function body, and its ids are values
};

struct InstructionShape {
    uint16_t op;
    Group group;
    uint16_t first, count; // in operands
};

/// An instruction set for OpExtInst, by the name that OpExtInstImport gives.
struct InstructionSet {
    const char *name;
    uint16_t first, count; // in set_instructions
};

struct EnumKind {
    enum Form : uint8_t { closed, open, mask } form; // open: may be any number; mask: bits
    uint16_t first, count;                           // in enumerants
};

struct Enumerant {
    uint32_t value;
    uint16_t first, count; // in operands: those that follow it
};

extern const Operand operands[];
extern const InstructionShape instructions[];
extern const size_t instruction_count;
extern const InstructionShape set_instructions[];
extern const InstructionSet sets[];
extern const size_t set_count;
extern const EnumKind enum_kinds[];
extern const Enumerant enumerants[];

/// The shape of an instruction; null if the grammar does not have the opcode.
const InstructionShape *shape_of(uint16_t op);

/// An operand of an instruction. `at` is the index of its word, or of its first word.
struct Part {
    uint8_t kind;
    bool of_enumerant; // belongs to the enumerant before it
    uint32_t at;
};

/// Facts outside of an instruction on which its shape depends.
struct Surroundings {
    bool has_extensions;   // the module declares extensions: what the grammar lacks is no error
    uint32_t number_words; // of each operand of kind number
    std::string_view set;  // the instruction set of an OpExtInst
};

/// Splits an instruction into its operands, in order, as far as the grammar knows them. Returns
/// null, or what is wrong with it.
const char *split(const Instruction &i, const InstructionShape &shape, const Surroundings &surroundings,
                  std::vector<Part> &parts);

} // namespace ze_cpu::spirv
