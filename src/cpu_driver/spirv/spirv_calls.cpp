// SPDX-License-Identifier: Apache-2.0
#include "spirv_calls.h"

#include <algorithm>
#include <iterator>

#include <spirv/unified1/OpenCL.std.h>

namespace ze_cpu {
namespace {

struct Call {
    uint16_t op;
    const char *name;
    int operands = 1; // after the pointer
    bool is_unsigned = false;
};
constexpr Call calls[] = {
    {spv::OpAtomicLoad, "add"}, // it adds 0 and returns what was there before
    {spv::OpAtomicIAdd, "add"},
    {spv::OpAtomicFAddEXT, "add"},
    {spv::OpAtomicStore, "xchg"},
    {spv::OpAtomicExchange, "xchg"},
    {spv::OpAtomicFlagTestAndSet, "xchg"},
    {spv::OpAtomicFlagClear, "xchg"},
    {spv::OpAtomicCompareExchange, "cmpxchg", 2},
    {spv::OpAtomicCompareExchangeWeak, "cmpxchg", 2},
    {spv::OpAtomicIIncrement, "inc", 0},
    {spv::OpAtomicIDecrement, "dec", 0},
    {spv::OpAtomicISub, "sub"},
    {spv::OpAtomicSMin, "min"},
    {spv::OpAtomicFMinEXT, "min"},
    {spv::OpAtomicUMin, "min", 1, true},
    {spv::OpAtomicSMax, "max"},
    {spv::OpAtomicFMaxEXT, "max"},
    {spv::OpAtomicUMax, "max", 1, true},
    {spv::OpAtomicAnd, "and"},
    {spv::OpAtomicOr, "or"},
    {spv::OpAtomicXor, "xor"},
};

/// The letter of a type in mangled names; empty for types without atomics.
std::string letter_of(const spirv::Id &type, bool is_unsigned) {
    const uint32_t bits = type.word(2);
    if (type.op == spv::OpTypeFloat)
        return bits == 16 ? "Dh" : bits == 32 ? "f" : bits == 64 ? "d" : "";
    if (type.op != spv::OpTypeInt)
        return "";
    const char *letter = bits == 8 ? "ch" : bits == 16 ? "st" : bits == 32 ? "ij" : bits == 64 ? "lm" : "";
    return *letter ? std::string(1, letter[is_unsigned]) : "";
}

const char *space_of(uint32_t storage) {
    switch (storage) {
    case spv::StorageClassFunction:
        return "P";
    case spv::StorageClassCrossWorkgroup:
        return "PU3AS1";
    case spv::StorageClassWorkgroup:
        return "PU3AS3";
    case spv::StorageClassGeneric:
        return "PU3AS4";
    default:
        return nullptr;
    }
}

/// Whether an id is OpenCL's set of instructions.
bool is_opencl_set(const spirv::Id &set) {
    return set.op == spv::OpExtInstImport &&
           spirv::text_at({set.op, set.count, set.words}, 2) == "OpenCL.std";
}

/// fma() of f16 that are no vectors.
bool is_half_fma(const spirv::Instruction &i, const spirv::Ids &ids) {
    if (i.op != spv::OpExtInst || i.count != 8 || i.word[4] != OpenCLLIB::Fma)
        return false;
    const spirv::Id &type = ids[i.word[1]];
    return is_opencl_set(ids[i.word[3]]) && type.op == spv::OpTypeFloat && type.word(2) == 16;
}

} // namespace

std::optional<ImportedFunction> runtime_function(const spirv::Instruction &i, const spirv::Ids &ids) {
    if (is_half_fma(i, ids))
        return ImportedFunction{"_Z3fmaDhDhDh", "f16(f16,f16,f16)"};
    const Call *call = std::ranges::find(calls, i.op, &Call::op);
    if (call == std::end(calls))
        return {};
    const bool has_result = i.op != spv::OpAtomicStore && i.op != spv::OpAtomicFlagClear;
    const spirv::Id &pointer = ids[ids.type_of(i.word[has_result ? 3 : 1])], &value = ids[pointer.word(3)];
    const std::string letter = letter_of(value, call->is_unsigned);
    const char *space = space_of(pointer.word(2));
    if (pointer.op != spv::OpTypePointer || letter.empty() || !space)
        return {};
    const bool is_wide_integer = value.op == spv::OpTypeInt && value.word(2) == 64;
    const std::string name = (is_wide_integer ? "atom_" : "atomic_") + std::string(call->name);
    const std::string type = (value.op == spv::OpTypeInt ? "i" : "f") + std::to_string(value.word(2));
    ImportedFunction function{"_Z" + std::to_string(name.size()) + name + space + "V" + letter,
                              type + "(p" + std::to_string(pointer.word(2))};
    for (int n = 0; n < call->operands; n++) {
        function.name += letter;
        function.signature += "," + type;
    }
    function.signature += ")";
    return function;
}

} // namespace ze_cpu
