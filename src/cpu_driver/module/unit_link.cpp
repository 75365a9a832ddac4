// SPDX-License-Identifier: Apache-2.0
//
// Makes one program of several units. Two units may export different functions of the same name, so
// the linker name of a function gets the number of its unit. Exported functions that no unit
// imports lose their linker names.
#include <algorithm>
#include <initializer_list>
#include <set>

#include <spirv/unified1/spirv.hpp>

#include "module_unit.h"

namespace ze_cpu {
namespace {

/// A module with one kernel that does nothing. The runtime looks for missing symbols only where
/// there is a kernel.
std::vector<uint32_t> make_empty_kernel() {
    constexpr uint32_t void_type = 1, function_type = 2, kernel = 3, block = 4, bound = 5;
    std::vector<uint32_t> words{spv::MagicNumber, 0x10000, 0, bound, 0}; // version 1.0
    const auto add = [&](spv::Op op, std::initializer_list<uint32_t> operands) {
        words.push_back(uint32_t(operands.size() + 1) << 16 | op);
        words.insert(words.end(), operands);
    };
    add(spv::OpCapability, {spv::CapabilityAddresses});
    add(spv::OpCapability, {spv::CapabilityKernel});
    add(spv::OpMemoryModel, {spv::AddressingModelPhysical64, spv::MemoryModelOpenCL});
    // The name is "ze_cpu_nothing".
    add(spv::OpEntryPoint, {spv::ExecutionModelKernel, kernel, 0x635f657a, 0x6e5f7570, 0x6968746f, 0x676e});
    add(spv::OpTypeVoid, {void_type});
    add(spv::OpTypeFunction, {function_type, void_type});
    add(spv::OpFunction, {void_type, kernel, spv::FunctionControlMaskNone, function_type});
    add(spv::OpLabel, {block});
    add(spv::OpReturn, {});
    add(spv::OpFunctionEnd, {});
    return words;
}

class Linker {
public:
    Linker(const Closure &closure, ProgramFor purpose, std::string &log)
        : closure_(closure), purpose_(purpose), log_(log) {}

    ze_result_t link(Program &program) {
        for (size_t k = 0; k < closure_.size(); k++)
            for (const Source &source : closure_[k]->sources)
                for (const Symbol &symbol : source.linkage.imports)
                    if (const Unit *from = closure_[k]->provider_of(symbol.name); from && symbol.is_function)
                        wanted_.insert({from, symbol.name});
        std::vector<ImportedFunction> imports;
        for (size_t k = 0; k < closure_.size(); k++) {
            const Unit &unit = *closure_[k];
            if (k > 0 && !is_wanted(unit))
                continue;
            for (size_t i = 0; i < unit.sources.size(); i++) {
                const Source &source = unit.sources[i];
                Rewrite rewrite;
                if (!plan(k, i, rewrite))
                    return ZE_RESULT_ERROR_MODULE_LINK_FAILURE;
                if (ze_result_t result = parts_.add(rewrite_spirv(source.words, rewrite), source.constants,
                                                    source.options, log_))
                    return result;
                std::copy_if(source.functions.begin(), source.functions.end(), std::back_inserter(imports),
                             [&](const ImportedFunction &f) { return !unit.provider_of(f.name); });
            }
        }
        if (purpose_ == ProgramFor::pointers)
            if (ze_result_t result = parts_.add(make_empty_kernel(), {}, "", log_))
                return result;
        if (ze_result_t result = parts_.add_builtins(imports, log_))
            return result;
        return parts_.link(closure_[0]->options, program, log_);
    }

private:
    bool is_wanted(const Unit &unit) const {
        return std::any_of(wanted_.begin(), wanted_.end(), [&](const auto &w) { return w.first == &unit; });
    }

    /// The linker name of a function of this unit.
    std::string link_name(const Unit &unit, const std::string &name) const {
        size_t k = 0;
        while (closure_[k].get() != &unit)
            k++;
        return k == 0 && purpose_ == ProgramFor::pointers ? name : name + ".ze_cpu." + std::to_string(k);
    }

    /// Replaces a variable by its address in its home. Returns false if the address is not known.
    bool place(const Unit &home, const std::string &name, uint32_t id, Rewrite &rewrite) {
        void *address = home.home ? variable_in(*home.home, name) : nullptr;
        rewrite.addresses[id] = reinterpret_cast<uintptr_t>(address);
        if (!address)
            log_ += "the OpenCL runtime does not tell where the variable " + name + " is\n";
        return address != nullptr;
    }

    /// Decides how to change source i of unit k. Returns false if it cannot be linked.
    bool plan(size_t k, size_t i, Rewrite &rewrite) {
        const Unit &unit = *closure_[k];
        const Linkage &linkage = unit.sources[i].linkage;
        const bool is_called = k == 0 && purpose_ == ProgramFor::pointers;
        rewrite.keep_kernels = k == 0 && purpose_ == ProgramFor::kernels;
        rewrite.keep_debug_info = false; // may refer to removed variables
        for (const Symbol &symbol : linkage.exports) {
            if (!symbol.is_function) {
                if (!place(unit, symbol.name, symbol.id, rewrite))
                    return false;
            } else if (is_called) {
                rewrite.called_by_pointer.push_back(symbol.id);
            } else {
                const bool wanted = wanted_.count({&unit, symbol.name}) != 0;
                rewrite.names[symbol.id] = wanted ? link_name(unit, symbol.name) : "";
            }
        }
        for (const Symbol &function : linkage.group_functions)
            rewrite.names[function.id] = "";
        for (uint32_t id : linkage.hidden)
            if (!place(unit, hidden_name(i, id), id, rewrite))
                return false;
        if (!rewrite.keep_kernels)
            for (uint32_t id : linkage.kernels)
                rewrite.names[id] = "";
        for (const Symbol &symbol : linkage.imports) {
            const Unit *from = unit.provider_of(symbol.name);
            if (from && symbol.is_function)
                rewrite.names[symbol.id] = link_name(*from, symbol.name);
            else if (from && !place(*from, symbol.name, symbol.id, rewrite))
                return false;
        }
        return true;
    }

    const Closure &closure_;
    const ProgramFor purpose_;
    std::string &log_;
    ProgramParts parts_;
    std::set<std::pair<const Unit *, std::string>> wanted_; // functions that units import
};

} // namespace

Closure closure_of(const std::shared_ptr<const Unit> &unit) {
    Closure closure{unit};
    for (size_t k = 0; k < closure.size(); k++) {
        const std::shared_ptr<const Unit> from = closure[k];
        for (const auto &[name, provider] : from->providers)
            if (auto used = provider.lock();
                used && std::find(closure.begin(), closure.end(), used) == closure.end())
                closure.push_back(std::move(used));
    }
    return closure;
}

ze_result_t link_closure(const Closure &closure, ProgramFor purpose, Program &program, std::string &log) {
    return Linker(closure, purpose, log).link(program);
}

} // namespace ze_cpu
