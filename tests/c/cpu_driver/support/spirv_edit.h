// SPDX-License-Identifier: Apache-2.0
// SPIR-V modules as lists of instructions: made by hand, changed.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <spirv/unified1/spirv.hpp>

struct SpirvModule {
    using Words = std::vector<uint32_t>; // of one instruction; the first word has count and opcode

    Words header{spv::MagicNumber, 0x10400, 0, 1000, 0};
    std::vector<Words> instructions;

    SpirvModule() = default;
    explicit SpirvModule(const std::vector<uint8_t> &bytes) {
        Words words(bytes.size() / 4);
        std::memcpy(words.data(), bytes.data(), words.size() * 4);
        header.assign(words.begin(), words.begin() + 5);
        for (size_t at = 5; at < words.size(); at += words[at] >> 16)
            instructions.emplace_back(words.begin() + long(at), words.begin() + long(at + (words[at] >> 16)));
    }
    std::vector<uint8_t> bytes() const {
        Words words = header;
        for (const Words &i : instructions)
            words.insert(words.end(), i.begin(), i.end());
        std::vector<uint8_t> result(words.size() * 4);
        std::memcpy(result.data(), words.data(), result.size());
        return result;
    }
    static Words made(spv::Op op, const Words &operands) {
        Words words{uint32_t(op) | uint32_t(operands.size() + 1) << 16};
        words.insert(words.end(), operands.begin(), operands.end());
        return words;
    }
    void add(spv::Op op, const Words &operands = {}) { instructions.push_back(made(op, operands)); }
    void insert_first(spv::Op op, const Words &operands) {
        instructions.insert(instructions.begin(), made(op, operands));
    }
};

inline spv::Op op_of(const SpirvModule::Words &instruction) {
    return spv::Op(instruction[0] & 0xffff);
}

/// `operands` with a literal string behind them.
inline SpirvModule::Words with_text(SpirvModule::Words operands, const std::string &text) {
    const size_t first = operands.size();
    operands.resize(first + text.size() / 4 + 1);
    std::memcpy(&operands[first], text.data(), text.size());
    return operands;
}
