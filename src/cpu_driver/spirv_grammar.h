// SPDX-License-Identifier: Apache-2.0
//
// The shapes of instructions, in tables that spirv_grammar.py makes of Khronos' machine-readable grammar when
// the driver is built. Modules may be younger than that grammar: what an extension has added since is let
// pass.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "spirv_words.h"

namespace ze_cpu::spirv {

/// What an operand is; kinds from first_enum on are rows of enum_kinds.
enum Kind : uint8_t {
    result_type,
    result,
    id,         // any other one
    integer_id, // scopes and memory semantics
    literal,
    string,
    number,     // as wide as a type says
    opcode,     // of OpSpecConstantOp: the operands of that instruction follow
    set_opcode, // of OpExtInst: of a set's instruction, likewise
    first_enum,
};

enum class Times : uint8_t { once, optional, any, with_last }; // with_last: each time after the one before

struct Operand {
    uint8_t kind;
    Times times;
};

/// What instructions of a kind have in common.
enum class Group : uint8_t {
    other,
    type,      // defines one
    constant,  // defines one
    on_values, // of function bodies: its ids are values
};

struct InstructionShape {
    uint16_t op;
    Group group;
    uint16_t first, count; // in operands
};

/// Instructions for OpExtInst, by the name of their import.
struct InstructionSet {
    const char *name;
    uint16_t first, count; // in set_instructions
};

struct EnumKind {
    enum Form : uint8_t { closed, open, mask } form; // open: may be any number
    uint16_t first, count;                           // in enumerants
};

struct Enumerant {
    uint32_t value;
    uint16_t first, count; // its own operands
};

extern const Operand operands[];
extern const InstructionShape instructions[];
extern const size_t instruction_count;
extern const InstructionShape set_instructions[];
extern const InstructionSet sets[];
extern const size_t set_count;
extern const EnumKind enum_kinds[];
extern const Enumerant enumerants[];

/// Null for a number that the grammar does not have.
const InstructionShape *shape_of(uint16_t op);

/// An operand of an instruction: a word of it, of a string or a number the first.
struct Part {
    uint8_t kind;
    bool of_enumerant; // belongs to the one before
    uint32_t at;
};

/// What the shape of an instruction depends on outside of it.
struct Surroundings {
    bool has_extensions;   // the module declares some: what the grammar does not know is no error
    uint32_t number_words; // of each operand of kind number
    std::string_view set;  // the instruction set of an OpExtInst
};

/// Splits an instruction into its operands, in order, up to what the grammar does not know. Null, or what is
/// wrong with it.
const char *split(const Instruction &i, const InstructionShape &shape, const Surroundings &surroundings,
                  std::vector<Part> &parts);

} // namespace ze_cpu::spirv
