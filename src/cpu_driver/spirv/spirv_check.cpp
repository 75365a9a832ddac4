// SPDX-License-Identifier: Apache-2.0
#include "spirv_check.h"

#include "spirv_rules.h"

namespace ze_cpu {
namespace {

using namespace spirv;

constexpr bool is_terminator(uint16_t op) {
    return (op >= spv::OpBranch && op <= spv::OpUnreachable) || op == spv::OpTerminateInvocation;
}

/// The section of a module that an instruction belongs to, in the specification's order (Logical
/// Layout of a Module). 0: the instruction may be anywhere.
constexpr int section_of(uint16_t op, Group group) {
    switch (op) {
    case spv::OpCapability:
        return 1;
    case spv::OpExtension:
        return 2;
    case spv::OpExtInstImport:
        return 3;
    case spv::OpMemoryModel:
        return 4;
    case spv::OpEntryPoint:
        return 5;
    case spv::OpExecutionMode:
    case spv::OpExecutionModeId:
        return 6;
    case spv::OpString:
    case spv::OpSource:
    case spv::OpSourceExtension:
    case spv::OpSourceContinued:
    case spv::OpName:
    case spv::OpMemberName:
    case spv::OpModuleProcessed:
        return 7;
    case spv::OpDecorate:
    case spv::OpMemberDecorate:
    case spv::OpDecorationGroup:
    case spv::OpGroupDecorate:
    case spv::OpGroupMemberDecorate:
    case spv::OpDecorateId:
        return 8;
    case spv::OpTypeForwardPointer:
        return 9;
    case spv::OpFunction:
        return 10;
    default:
        return group == Group::type || group == Group::constant ? 9 : 0;
    }
}

class Checker {
public:
    Checker(const std::vector<uint32_t> &words, Ids &ids, std::string &error)
        : words_(words), error_(error), ids_(ids) {
        ids_.bound = words[3];
    }

    bool run() {
        if (words_[1] & 0xff0000ff || words_[1] >> 16 != 1)
            return fail("unknown version");
        if (words_[4] != 0)
            return fail("reserved schema word is not zero");
        if (!each([this](const Instruction &i) { return collect(i); }))
            return false;
        if (open_function_)
            return fail("the module ends within a function");
        if (!has_memory_model_)
            return fail("no memory model");
        return each([this](const Instruction &i) { return check(i); });
    }

private:
    bool fail(const std::string &what) {
        error_ = "invalid SPIR-V: " + what;
        return false;
    }
    bool fail(const Instruction &i, const char *what) {
        return fail("instruction " + std::to_string(i.op) + " at word " +
                    std::to_string(i.word - words_.data()) + " " + what);
    }

    template <class Visit> bool each(Visit visit) {
        for (size_t at = header_words; at < words_.size();) {
            const Instruction i{uint16_t(words_[at] & 0xffff), words_[at] >> 16, &words_[at]};
            if (i.count == 0 || i.count > words_.size() - at)
                return fail("an instruction of " + std::to_string(i.count) + " words at word " +
                            std::to_string(at) + " exceeds the module of " + std::to_string(words_.size()) +
                            " words");
            if (!visit(i))
                return false;
            at += i.count;
        }
        return true;
    }

    // First pass: the order of instructions, and what ids stand for.

    bool collect(const Instruction &i) {
        has_extensions_ = has_extensions_ || i.op == spv::OpExtension;
        has_memory_model_ = has_memory_model_ || i.op == spv::OpMemoryModel;
        const InstructionShape *shape = shape_of(i.op);
        if (!shape) { // the instruction may be newer than the grammar
            ids_.all_known = false;
            return (has_extensions_ && i.op >= first_vendor_op) || fail(i, "does not exist");
        }
        const uint32_t has_type = shape->count && operands[shape->first].kind == result_type;
        const bool has_result = shape->count > has_type && operands[shape->first + has_type].kind == result;
        if (i.count < 1 + has_type + has_result)
            return fail(i, "is too short");
        if (i.op == spv::OpFunction)
            function_ = i.word[2];
        if (i.op == spv::OpTypeForwardPointer && i.count >= 2)
            ids_.forward_pointers.insert(i.word[1]);
        if (has_result && !define(i, i.word[1 + has_type], has_type, *shape))
            return fail(i, "has no valid result id");
        if (!in_order(i, shape->group))
            return false;
        if (i.op == spv::OpFunctionEnd)
            function_ = 0;
        return true;
    }

    bool define(const Instruction &i, uint32_t number, bool has_type, const InstructionShape &shape) {
        Id &id = ids_.by_number[number];
        if (id.kind != Id::undefined) // some translators write a debug instruction twice
            return set_of(i).rfind("NonSemantic.", 0) == 0 &&
                   std::equal(i.word, i.word + i.count, id.words, id.words + id.count);
        const Id::Kind kind = i.op == spv::OpFunction          ? Id::function
                              : i.op == spv::OpLabel           ? Id::label
                              : shape.group == Group::type     ? Id::type
                              : shape.group == Group::constant ? Id::constant
                              : has_type                       ? Id::value
                                                               : Id::other;
        id = {kind, i.op, has_type ? i.word[1] : 0, i.word, i.count, function_, in_block_ ? blocks_ : 0};
        return number != 0 && number < ids_.bound;
    }

    bool in_order(const Instruction &i, Group group) {
        if (const int section = section_of(i.op, group)) {
            if (section < section_)
                return fail(i, "comes too late");
            section_ = section;
        }
        switch (i.op) {
        case spv::OpFunction:
            if (open_function_)
                return fail(i, "begins a function within a function");
            open_function_ = true;
            return true;
        case spv::OpFunctionParameter:
            return (open_function_ && !in_block_) || fail(i, "is outside of a function's head");
        case spv::OpFunctionEnd:
            if (!open_function_ || in_block_)
                return fail(i, "ends a function within a block");
            open_function_ = false;
            return true;
        case spv::OpLabel:
            if (!open_function_ || in_block_)
                return fail(i, "begins a block at the wrong place");
            in_block_ = true;
            blocks_++;
            return true;
        case spv::OpNop:
        case spv::OpLine:
        case spv::OpNoLine:
        case spv::OpExtInst: // may be debug information
            return true;
        default:
            break;
        }
        if (is_terminator(i.op)) {
            if (!in_block_)
                return fail(i, "ends a block outside of one");
            in_block_ = false;
        } else if (open_function_ && !in_block_) {
            return fail(i, "is outside of a block");
        } else if (!open_function_ && i.op < first_vendor_op && group == Group::on_values &&
                   i.op != spv::OpVariable) {
            return fail(i, "is outside of a function");
        }
        return true;
    }

    // Second pass: each instruction by itself.

    bool check(const Instruction &i) {
        const InstructionShape *shape = shape_of(i.op);
        if (!shape)
            return true;
        const char *wrong = split(i, *shape, {has_extensions_, number_words(i), set_of(i)}, parts_);
        if (!wrong)
            wrong = rules_.check(i, *shape, parts_);
        return !wrong || fail(i, wrong);
    }

    /// The number of words of a literal whose width a type gives: the value of a constant, a case
    /// of OpSwitch.
    uint32_t number_words(const Instruction &i) const {
        if (i.count < 2)
            return 0;
        const Id &type = ids_[i.op == spv::OpSwitch ? ids_.type_of(i.word[1]) : i.word[1]];
        if (type.op == spv::OpTypeInt || type.op == spv::OpTypeFloat)
            return type.word(2) / 32 + (type.word(2) % 32 != 0);
        return type.kind == Id::undefined && !ids_.all_known;
    }

    std::string_view set_of(const Instruction &i) const {
        if (i.op != spv::OpExtInst || i.count < 4)
            return {};
        const Id &set = ids_[i.word[3]];
        if (set.op != spv::OpExtInstImport || set.count < 3)
            return {};
        return text_at({set.op, set.count, set.words}, 2);
    }

    const std::vector<uint32_t> &words_;
    std::string &error_;
    Ids &ids_;
    Rules rules_{ids_};
    std::vector<Part> parts_; // of the instruction that is checked
    uint32_t function_ = 0;   // that the first pass is in
    uint32_t blocks_ = 0;     // so far
    int section_ = 0;
    bool has_extensions_ = false, has_memory_model_ = false, open_function_ = false, in_block_ = false;
};

} // namespace

bool check_spirv(const std::vector<uint32_t> &words, Ids &ids, std::string &error) {
    return Checker(words, ids, error).run();
}

} // namespace ze_cpu
