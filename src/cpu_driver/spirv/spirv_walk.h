// SPDX-License-Identifier: Apache-2.0
//
// Visiting the instructions of a SPIR-V module, and questions about single ones.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "spirv_words.h"

namespace ze_cpu::spirv_walk {

using spirv::header_words;
inline constexpr size_t bound_word = 3;
inline constexpr uint32_t ext_inst_printf = 184; // of OpenCL.std

/// Calls visit(opcode, words of the instruction) for each instruction of a module. If `words` is
/// not constant, the visit may change them.
template <class Words, class Visit> void each_instruction(Words &words, Visit visit) {
    for (size_t at = header_words; at < words.size();) {
        const size_t count = words[at] >> 16;
        if (count == 0 || count > words.size() - at)
            return;
        visit(uint16_t(words[at] & 0xffff), std::span(words).subspan(at, count));
        at += count;
    }
}

/// The literal string at the beginning of these words.
inline std::string text(std::span<const uint32_t> words) {
    return std::string(spirv::text_at({0, uint32_t(words.size()), words.data()}, 0));
}

constexpr bool is_annotation(uint32_t op) {
    return (op >= spv::OpDecorate && op <= spv::OpGroupMemberDecorate) || op == spv::OpDecorateId ||
           op == spv::OpDecorateString || op == spv::OpMemberDecorateString;
}

/// Constants that are made of others.
constexpr bool is_composed(uint32_t op) {
    return op == spv::OpConstantComposite || op == spv::OpSpecConstantComposite ||
           op == spv::OpSpecConstantOp;
}

/// Types, constants and variables.
constexpr bool is_declaration(uint32_t op) {
    return (op >= spv::OpTypeVoid && op <= spv::OpSpecConstantOp) || op == spv::OpVariable ||
           op == spv::OpUndef;
}

/// The id that an instruction before all functions defines. 0 if it defines none that can have a
/// name.
inline uint32_t global_result(uint32_t op, std::span<const uint32_t> w) {
    const bool has_type = (op > spv::OpTypeForwardPointer && op <= spv::OpSpecConstantOp) ||
                          op == spv::OpVariable || op == spv::OpUndef;
    const bool has_none =
        op == spv::OpTypeForwardPointer || (!is_declaration(op) && op != spv::OpString &&
                                            op != spv::OpExtInstImport && op != spv::OpDecorationGroup);
    const size_t at = has_type ? 2 : 1;
    return has_none || w.size() <= at ? 0 : w[at];
}

/// Whether an instruction set only describes the source to debuggers.
inline bool is_debug_set(const std::string &name) {
    return name.find("DebugInfo") != std::string::npos || name == "SPIRV.debug";
}

} // namespace ze_cpu::spirv_walk
