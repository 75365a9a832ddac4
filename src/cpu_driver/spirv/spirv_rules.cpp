// SPDX-License-Identifier: Apache-2.0
#include "spirv_rules.h"

#include <string_view>

namespace ze_cpu::spirv {
namespace {

/// Arithmetic whose operands have the type of the result.
constexpr bool has_one_type(uint16_t op) {
    return (op >= spv::OpSNegate && op <= spv::OpFMod) ||
           (op >= spv::OpLogicalEqual && op <= spv::OpLogicalNot) ||
           (op >= spv::OpBitwiseOr && op <= spv::OpNot);
}

constexpr bool is_comparison(uint16_t op) {
    return op >= spv::OpIEqual && op <= spv::OpFUnordGreaterThanEqual;
}

constexpr bool is_access_chain(uint16_t op) {
    return op == spv::OpAccessChain || op == spv::OpInBoundsAccessChain || op == spv::OpPtrAccessChain ||
           op == spv::OpInBoundsPtrAccessChain;
}

constexpr bool is_atomic(uint16_t op) {
    return op >= spv::OpAtomicLoad && op <= spv::OpAtomicXor;
}

/// A power of two, or 0, which some translators write.
constexpr bool is_alignment(uint32_t n) {
    return (n & (n - 1)) == 0;
}

/// Whether the memory access at word `at`, if there is one, has a valid alignment or none.
bool is_aligned(const Instruction &i, uint32_t at) {
    return i.count <= at + 1 || !(i.word[at] & spv::MemoryAccessAlignedMask) || is_alignment(i.word[at + 1]);
}

} // namespace

const char *Rules::check(const Instruction &i, const InstructionShape &shape,
                         const std::vector<Part> &parts) {
    if (i.op == spv::OpFunction)
        function_ = i.word[2], parameters_ = 0;
    blocks_ += i.op == spv::OpLabel;
    for (const Part &part : parts)
        if (!id_fits(i, shape, part))
            return "has an id of the wrong kind";
    if (!fits(i, parts))
        return "has an operand of the wrong kind";
    if (i.op == spv::OpFunctionEnd)
        function_ = 0;
    return nullptr;
}

bool Rules::id_fits(const Instruction &i, const InstructionShape &shape, const Part &part) const {
    const uint32_t n = i.word[part.at];
    if ((part.kind == id || part.kind == result_type) && !is_in_time(i, shape, n))
        return false;
    if (part.kind == result_type)
        return ids_.is_type(n);
    if (part.kind == integer_id)
        return is_seen(i, n) && is_integer(n);
    if (part.kind != id)
        return true;
    if (part.of_enumerant)
        return ids_.is(n, {Id::constant, Id::value, Id::other});
    if (i.op >= first_vendor_op)
        return ids_.is_defined(n);
    switch (shape.group) {
    case Group::type:
        return ids_.is(n, {Id::type, Id::constant});
    case Group::constant:
        return ids_.is(n, {Id::constant, Id::value, Id::function});
    case Group::on_values:
        return is_seen(i, n);
    case Group::other:
        return ids_.is_defined(n);
    }
    return false;
}

/// Whether the instruction may use id n as early as here. A type, a constant or a global variable
/// may use only ids that are defined before it, and functions and pointers announced by
/// OpTypeForwardPointer.
bool Rules::is_in_time(const Instruction &i, const InstructionShape &shape, uint32_t n) const {
    const bool is_global = function_ == 0 && (shape.group == Group::type || shape.group == Group::constant ||
                                              i.op == spv::OpVariable);
    return !is_global || ids_[n].words < i.word || ids_[n].kind == Id::function ||
           ids_.forward_pointers.count(n);
}

/// Whether the instruction may use this value: it must not belong to another function, nor be
/// defined later in the same block.
bool Rules::is_seen(const Instruction &i, uint32_t value) const {
    const Id &used = ids_[value];
    return ids_.is_value(value) && (used.in_function == 0 || used.in_function == function_) &&
           (used.in_block == 0 || used.in_block != blocks_ || used.words < i.word);
}

bool Rules::is_label(uint32_t n) const {
    return ids_.is(n, {Id::label}) && (ids_[n].kind == Id::undefined || ids_[n].in_function == function_);
}

bool Rules::is_pointer(uint32_t value) const {
    const Id &type = ids_[ids_.type_of(value)];
    return type.op == spv::OpTypePointer || type.op >= first_vendor_op || type.kind == Id::undefined;
}

bool Rules::is_integer(uint32_t value) const {
    const Id &type = ids_[ids_.type_of(value)];
    return type.op == spv::OpTypeInt || type.kind == Id::undefined;
}

bool Rules::all_types(const Instruction &i, uint32_t from) const {
    return std::all_of(i.word + from, i.word + i.count, [this](uint32_t n) { return ids_.is_type(n); });
}

bool Rules::all_of_type(const Instruction &i, uint32_t from, uint32_t type) const {
    return std::all_of(i.word + from, i.word + i.count,
                       [&](uint32_t n) { return ids_.same(ids_.type_of(n), type); });
}

bool Rules::fits(const Instruction &i, const std::vector<Part> &parts) {
    const uint32_t *w = i.word;
    if (has_one_type(i.op) && i.op != spv::OpVectorTimesScalar)
        return all_of_type(i, 3, w[1]);
    if (is_comparison(i.op))
        return ids_.same(ids_.type_of(w[3]), ids_.type_of(w[4]));
    if (is_access_chain(i.op))
        return access_fits(i);
    if (is_atomic(i.op)) {
        const bool is_store = i.op == spv::OpAtomicStore;
        const uint32_t pointer = w[is_store ? 1 : 3], type = is_store ? ids_.type_of(w[4]) : w[1];
        return is_pointer(pointer) && ids_.same(ids_.pointee(ids_.type_of(pointer)), type);
    }
    switch (i.op) {
    case spv::OpExtInst:
        return ids_.is(w[3], {Id::other}) && ids_[w[3]].op == spv::OpExtInstImport;
    case spv::OpSelect:
        return all_of_type(i, 4, w[1]);
    default:
        return annotation_fits(i) && type_fits(i) && memory_fits(i) && flow_fits(i, parts) &&
               function_fits(i);
    }
}

bool Rules::annotation_fits(const Instruction &i) const {
    const uint32_t *w = i.word;
    switch (i.op) {
    case spv::OpExtInstImport: {
        const std::string_view name = reinterpret_cast<const char *>(w + 2);
        return name.rfind("NonSemantic.", 0) == 0 ||
               std::any_of(sets, sets + set_count,
                           [name](const InstructionSet &set) { return name == set.name; });
    }
    case spv::OpSource: // the runtime ends the process for other languages
        return w[1] == spv::SourceLanguageUnknown || w[1] == spv::SourceLanguageOpenCL_C ||
               w[1] == spv::SourceLanguageOpenCL_CPP || w[1] == spv::SourceLanguageCPP_for_OpenCL;
    case spv::OpEntryPoint:
        return ids_.is(w[2], {Id::function});
    case spv::OpExecutionMode:
    case spv::OpExecutionModeId:
        return ids_.is(w[1], {Id::function});
    case spv::OpDecorate:
        return w[2] != spv::DecorationAlignment || is_alignment(w[3]);
    case spv::OpGroupDecorate:
        return ids_[w[1]].op == spv::OpDecorationGroup;
    default:
        return true;
    }
}

bool Rules::type_fits(const Instruction &i) const {
    const uint32_t *w = i.word;
    switch (i.op) {
    case spv::OpTypeFloat:
        return w[2] == 8 || w[2] == 16 || w[2] == 32 || w[2] == 64;
    case spv::OpTypeVector: {
        const Id &element = ids_[w[2]];
        const bool is_scalar = element.op >= spv::OpTypeBool && element.op <= spv::OpTypeFloat;
        return ids_.is_type(w[2]) && (is_scalar || element.kind == Id::undefined) && w[3] >= 2;
    }
    case spv::OpTypeArray:
        return ids_.is_type(w[2]) && ids_.is(w[3], {Id::constant});
    case spv::OpTypeStruct:
    case spv::OpTypeFunction:
        return all_types(i, 2);
    case spv::OpTypePointer:
        return ids_.is_type(w[3]);
    case spv::OpConstantComposite:
    case spv::OpSpecConstantComposite:
        return composite_fits(i);
    default:
        return true;
    }
}

bool Rules::composite_fits(const Instruction &i) const {
    const Id &type = ids_[i.word[1]];
    const uint32_t count = i.count - 3;
    if (type.op == spv::OpTypeVector)
        return count == type.word(3) && all_of_type(i, 3, type.word(2));
    if (type.op != spv::OpTypeStruct)
        return type.op != spv::OpTypeArray || all_of_type(i, 3, type.word(2));
    for (uint32_t n = 0; n < count; n++)
        if (!ids_.same(ids_.type_of(i.word[3 + n]), type.word(2 + n)))
            return false;
    return count == type.count - 2;
}

bool Rules::memory_fits(const Instruction &i) const {
    const uint32_t *w = i.word;
    auto behind = [this](uint32_t pointer) { return ids_.pointee(ids_.type_of(pointer)); };
    switch (i.op) {
    case spv::OpVariable:
        return ids_.is_type_of(w[1], spv::OpTypePointer);
    case spv::OpLoad:
        return is_pointer(w[3]) && ids_.same(behind(w[3]), w[1]) && is_aligned(i, 4);
    case spv::OpStore:
        return is_pointer(w[1]) && ids_.same(behind(w[1]), ids_.type_of(w[2])) && is_aligned(i, 3);
    case spv::OpCopyMemory:
        return is_pointer(w[1]) && is_pointer(w[2]) && ids_.same(behind(w[1]), behind(w[2])) &&
               is_aligned(i, 3);
    case spv::OpCopyMemorySized:
        return is_pointer(w[1]) && is_pointer(w[2]) && is_aligned(i, 4);
    case spv::OpCompositeInsert:
        return ids_.same(ids_.type_of(w[4]), w[1]);
    default:
        return true;
    }
}

/// Follows the indices of an access chain from the type behind the base pointer. They must lead to
/// the type behind the result.
bool Rules::access_fits(const Instruction &i) const {
    const bool begins_with_element = i.op == spv::OpPtrAccessChain || i.op == spv::OpInBoundsPtrAccessChain;
    if (!is_pointer(i.word[3]))
        return false;
    uint32_t type = ids_.pointee(ids_.type_of(i.word[3]));
    for (uint32_t n = 4; n < i.count; n++) {
        if (!is_integer(i.word[n]))
            return false;
        if (n == 4 && begins_with_element)
            continue;
        const Id &of = ids_[type];
        if (of.op == spv::OpTypeStruct) {
            const Id &index = ids_[i.word[n]];
            if (index.op != spv::OpConstant || index.word(3) >= of.count - 2)
                return false;
            type = of.word(2 + index.word(3));
        } else {
            type = of.word(2); // of arrays and vectors
        }
    }
    return ids_.same(type, ids_.pointee(i.word[1]));
}

bool Rules::flow_fits(const Instruction &i, const std::vector<Part> &parts) const {
    const uint32_t *w = i.word;
    switch (i.op) {
    case spv::OpBranch:
    case spv::OpSelectionMerge:
        return is_label(w[1]);
    case spv::OpLoopMerge:
        return is_label(w[1]) && is_label(w[2]);
    case spv::OpBranchConditional:
        return is_seen(i, w[1]) && is_label(w[2]) && is_label(w[3]);
    case spv::OpSwitch:
        return is_seen(i, w[1]) && std::all_of(parts.begin() + 1, parts.end(), [&](const Part &p) {
                   return p.kind != id || is_label(w[p.at]);
               });
    case spv::OpPhi:
        for (uint32_t n = 3; n < i.count; n += 2)
            if (!ids_.is_value(w[n]) || !ids_.same(ids_.type_of(w[n]), w[1]) || !is_label(w[n + 1]))
                return false;
        return true;
    default:
        return true;
    }
}

bool Rules::function_fits(const Instruction &i) {
    const uint32_t *w = i.word;
    const Id &type = ids_[ids_[function_].word(4)];
    switch (i.op) {
    case spv::OpFunction:
        return ids_.is_type_of(w[4], spv::OpTypeFunction) && ids_.same(type.word(2), w[1]);
    case spv::OpFunctionParameter:
        return ids_.same(type.word(3 + parameters_++), w[1]);
    case spv::OpLabel:
    case spv::OpFunctionEnd:
        return 3 + parameters_ == type.count || type.kind == Id::undefined;
    case spv::OpReturn:
        return ids_.is_type_of(ids_.type_of(function_), spv::OpTypeVoid);
    case spv::OpReturnValue:
        return is_seen(i, w[1]) && ids_.same(ids_.type_of(w[1]), ids_.type_of(function_));
    case spv::OpFunctionCall:
        return call_fits(i);
    default:
        return true;
    }
}

bool Rules::call_fits(const Instruction &i) const {
    const Id &callee = ids_[i.word[3]], &type = ids_[callee.word(4)];
    if (callee.kind != Id::function)
        return callee.kind == Id::undefined && !ids_.all_known;
    if (type.op != spv::OpTypeFunction || type.count - 3 != i.count - 4 ||
        !ids_.same(callee.type_id, i.word[1]))
        return false;
    for (uint32_t n = 4; n < i.count; n++)
        if (!is_seen(i, i.word[n]) || !ids_.same(ids_.type_of(i.word[n]), type.word(n - 1)))
            return false;
    return true;
}

} // namespace ze_cpu::spirv
