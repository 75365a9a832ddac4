// SPDX-License-Identifier: Apache-2.0
//
// Rules for single instructions whose shape is right: what their ids may stand for, and which types
// have to be the same. They are the rules that Intel's OpenCL runtime relies on without a check.
#pragma once

#include <vector>

#include "spirv_grammar.h"
#include "spirv_ids.h"

namespace ze_cpu::spirv {

class Rules {
public:
    explicit Rules(const Ids &ids) : ids_(ids) {}

    /// Checks an instruction. The module's instructions must be given in their order. Returns null,
    /// or what is wrong.
    const char *check(const Instruction &i, const InstructionShape &shape, const std::vector<Part> &parts);

private:
    bool id_fits(const Instruction &i, const InstructionShape &shape, const Part &part) const;
    bool is_in_time(const Instruction &i, const InstructionShape &shape, uint32_t n) const;
    bool is_seen(const Instruction &i, uint32_t value) const;
    bool is_label(uint32_t n) const;
    bool is_pointer(uint32_t value) const;
    bool is_integer(uint32_t value) const;
    bool all_types(const Instruction &i, uint32_t from) const;
    bool all_of_type(const Instruction &i, uint32_t from, uint32_t type) const;
    bool fits(const Instruction &i, const std::vector<Part> &parts);
    bool type_fits(const Instruction &i) const;
    bool annotation_fits(const Instruction &i) const;
    bool memory_fits(const Instruction &i) const;
    bool flow_fits(const Instruction &i, const std::vector<Part> &parts) const;
    bool function_fits(const Instruction &i);
    bool composite_fits(const Instruction &i) const;
    bool call_fits(const Instruction &i) const;
    bool access_fits(const Instruction &i) const;

    const Ids &ids_;
    uint32_t function_ = 0, parameters_ = 0; // the function that the instruction is in, parameters so far
    uint32_t blocks_ = 0;                    // so far in the module
};

} // namespace ze_cpu::spirv
