// SPDX-License-Identifier: Apache-2.0
//
// Walking through a SPIR-V module, with the numbers of what its linkage is made of.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

namespace ze_cpu::spirv_walk {

inline constexpr size_t header_words = 5, bound_word = 3;

enum Op : uint32_t {
    op_undef = 1,
    op_name = 5,
    op_string = 7,
    op_extension = 10,
    op_ext_inst_import = 11,
    op_ext_inst = 12,
    op_entry_point = 15,
    op_execution_mode = 16,
    op_capability = 17,
    op_type_void = 19,
    op_type_int = 21,
    op_type_struct = 30,
    op_type_pointer = 32,
    op_type_forward_pointer = 39,
    op_constant = 43,
    op_constant_composite = 44,
    op_spec_constant_composite = 51,
    op_spec_constant_op = 52,
    op_function = 54,
    op_function_call = 57,
    op_variable = 59,
    op_load = 61,
    op_decorate = 71,
    op_decoration_group = 73,
    op_group_decorate = 74,
    op_group_member_decorate = 75,
    op_convert_u_to_ptr = 120,
    op_execution_mode_id = 331,
    op_decorate_id = 332,
    op_constant_function_pointer = 5600,
    op_decorate_string = 5632,
    op_member_decorate_string = 5633,
};
inline constexpr uint32_t decoration_linkage = 41, decoration_referenced_indirectly = 5602;
inline constexpr uint32_t linkage_export = 0, linkage_import = 1;
inline constexpr uint32_t storage_uniform_constant = 0, storage_input = 1, storage_cross_workgroup = 5,
                          storage_function = 7;
inline constexpr uint32_t ext_inst_printf = 184; // of OpenCL.std
inline constexpr uint32_t capability_int64 = 11, capability_indirect_references = 5604;

/// Calls visit(opcode, words of the instruction) for all instructions.
template <class Visit> void each_instruction(const std::vector<uint32_t> &words, Visit visit) {
    for (size_t at = header_words; at < words.size();) {
        const size_t count = words[at] >> 16;
        if (count == 0 || count > words.size() - at)
            return;
        visit(uint16_t(words[at] & 0xffff), std::span(words).subspan(at, count));
        at += count;
    }
}

/// The literal string that these words begin with.
inline std::string text(std::span<const uint32_t> words) {
    const char *data = reinterpret_cast<const char *>(words.data());
    return {data, strnlen(data, words.size_bytes())};
}

constexpr bool is_annotation(uint32_t op) {
    return (op >= op_decorate && op <= op_group_member_decorate) || op == op_decorate_id ||
           op == op_decorate_string || op == op_member_decorate_string;
}

/// Constants that are made of others.
constexpr bool is_composed(uint32_t op) {
    return op == op_constant_composite || op == op_spec_constant_composite || op == op_spec_constant_op;
}

/// Types, constants and variables.
constexpr bool is_declaration(uint32_t op) {
    return (op >= op_type_void && op <= op_spec_constant_op) || op == op_variable || op == op_undef;
}

/// The id that an instruction before all functions defines; 0 if it defines none that may have a name.
inline uint32_t global_result(uint32_t op, std::span<const uint32_t> w) {
    const bool has_type =
        (op > op_type_forward_pointer && op <= op_spec_constant_op) || op == op_variable || op == op_undef;
    const bool has_none =
        op == op_type_forward_pointer ||
        (!is_declaration(op) && op != op_string && op != op_ext_inst_import && op != op_decoration_group);
    const size_t at = has_type ? 2 : 1;
    return has_none || w.size() <= at ? 0 : w[at];
}

/// Sets of instructions that only describe the source to debuggers.
inline bool is_debug_set(const std::string &name) {
    return name.find("DebugInfo") != std::string::npos || name == "SPIRV.debug";
}

} // namespace ze_cpu::spirv_walk
