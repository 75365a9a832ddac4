// SPDX-License-Identifier: Apache-2.0
#include "pointer_check.h"

#include <algorithm>
#include <map>
#include <set>

#include "spirv/spirv_walk.h"

namespace ze_cpu {
namespace {

using namespace spirv_walk;

struct Facts {
    bool is_plain = true; // has nothing but arithmetic, memory, control flow and calls
    std::vector<uint32_t> calls;
};

/// Arithmetic, memory, control flow and calls by pointer: what does not depend on the work-item.
constexpr bool is_plain(uint32_t op) {
    constexpr uint32_t ranges[][2] = {
        {spv::OpNop, spv::OpUndef},
        {spv::OpLine, spv::OpLine},
        {spv::OpExtInst, spv::OpExtInst},
        {spv::OpFunction, spv::OpFunctionEnd},
        {spv::OpVariable, spv::OpVariable},
        {spv::OpLoad, spv::OpInBoundsPtrAccessChain},
        {spv::OpVectorExtractDynamic, spv::OpTranspose},
        {spv::OpConvertFToU, spv::OpBitCount},
        {spv::OpMemoryBarrier, spv::OpMemoryBarrier},
        {spv::OpAtomicLoad, spv::OpAtomicXor},
        {spv::OpPhi, spv::OpLifetimeStop},
        {spv::OpNoLine, spv::OpNoLine},
        {spv::OpCopyLogical, spv::OpPtrDiff},
        {spv::OpFunctionPointerCallINTEL, spv::OpFunctionPointerCallINTEL},
    };
    return std::any_of(std::begin(ranges), std::end(ranges),
                       [op](const auto &range) { return op >= range[0] && op <= range[1]; });
}

/// The effects of each function of a module by itself, without the functions that it calls.
std::map<uint32_t, Facts> read_functions(const std::vector<uint32_t> &words) {
    std::map<uint32_t, Facts> functions;
    std::set<uint32_t> inputs; // variables with storage class Input, such as the global id
    Facts *current = nullptr;
    each_instruction(words, [&](uint16_t op, std::span<const uint32_t> w) {
        if (op == spv::OpFunction && w.size() > 2)
            current = &functions[w[2]];
        if (!current) {
            if (op == spv::OpVariable && w.size() > 3 && w[3] == spv::StorageClassInput)
                inputs.insert(w[2]);
        } else if (op == spv::OpFunctionCall && w.size() > 3) {
            current->calls.push_back(w[3]);
        } else {
            const bool is_printf = op == spv::OpExtInst && w.size() > 4 && w[4] == ext_inst_printf;
            // For a load or an access chain, w[3] is the pointer: it follows the result type and
            // the result id.
            const bool reads_input =
                op >= spv::OpLoad && op <= spv::OpConvertUToPtr && w.size() > 3 && inputs.count(w[3]) != 0;
            current->is_plain = current->is_plain && is_plain(op) && !is_printf && !reads_input;
        }
    });
    return functions;
}

class Check {
public:
    bool run(const Unit &unit, const std::string &name) {
        for (const Source &source : unit.sources)
            for (const auto &symbols : {source.linkage.exports, source.linkage.group_functions})
                for (const Symbol &symbol : symbols)
                    if (symbol.name == name && symbol.is_function)
                        return run(unit, source, symbol.id);
        return false;
    }

private:
    bool run(const Unit &unit, const Source &source, uint32_t id) {
        if (!seen_.insert({&source, id}).second)
            return true;
        for (const Symbol &symbol : source.linkage.imports)
            if (symbol.id == id)
                return run_import(unit, symbol.name);
        if (!functions_.count(&source))
            functions_[&source] = read_functions(source.words);
        const Facts &facts = functions_[&source][id];
        return facts.is_plain && std::all_of(facts.calls.begin(), facts.calls.end(),
                                             [&](uint32_t called) { return run(unit, source, called); });
    }

    /// Checks an imported function in the unit that exports it. Functions of the runtime are
    /// refused, because nothing is known of them. Instructions of the CPU are plain.
    bool run_import(const Unit &unit, const std::string &name) {
        if (name.starts_with("llvm.x86.") || name.starts_with("llvm.prefetch."))
            return true;
        const Unit *from = unit.provider_of(name);
        return from && run(*from, name);
    }

    std::set<std::pair<const Source *, uint32_t>> seen_;
    std::map<const Source *, std::map<uint32_t, Facts>> functions_;
};

} // namespace

bool ignores_work_item(const Unit &unit, const std::string &function) {
    return Check().run(unit, function);
}

} // namespace ze_cpu
