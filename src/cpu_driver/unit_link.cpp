// SPDX-License-Identifier: Apache-2.0
//
// One program of several units. Names of functions get the number of the unit that has them, as two units may
// export different functions of the same name, and copies of functions lose what nobody asks for.
#include <algorithm>
#include <set>

#include "module_unit.h"

namespace ze_cpu {
namespace {

/// A module of one kernel that does nothing. The runtime looks for missing symbols where there is a kernel.
const std::vector<uint32_t> empty_kernel = {
    0x07230203,
    0x00010000,
    0,
    5,
    0, // version 1.0, ids below 5
    2u << 16 | 17,
    4,
    2u << 16 | 17,
    6, // OpCapability Addresses, Kernel
    3u << 16 | 14,
    2,
    2, // OpMemoryModel Physical64 OpenCL
    7u << 16 | 15,
    6,
    3,
    0x635f657a,
    0x6e5f7570,
    0x6968746f,
    0x676e, // OpEntryPoint Kernel %3 "ze_cpu_nothing"
    2u << 16 | 19,
    1, // %1 = OpTypeVoid
    3u << 16 | 33,
    2,
    1, // %2 = OpTypeFunction %1
    5u << 16 | 54,
    1,
    3,
    0,
    2, // %3 = OpFunction %1 None %2
    2u << 16 | 248,
    4,              // %4 = OpLabel
    1u << 16 | 253, // OpReturn
    1u << 16 | 56,  // OpFunctionEnd
};

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
            if (ze_result_t result = parts_.add(empty_kernel, {}, "", log_))
                return result;
        if (ze_result_t result = parts_.add_builtins(imports, log_))
            return result;
        return parts_.link(closure_[0]->options, program, log_);
    }

private:
    bool is_wanted(const Unit &unit) const {
        return std::any_of(wanted_.begin(), wanted_.end(), [&](const auto &w) { return w.first == &unit; });
    }

    std::string link_name(const Unit &unit, const std::string &name) const {
        size_t k = 0;
        while (closure_[k].get() != &unit)
            k++;
        return k == 0 && purpose_ == ProgramFor::pointers ? name : name + ".ze_cpu." + std::to_string(k);
    }

    bool place(const Unit &home, const std::string &name, uint32_t id, Rewrite &rewrite) {
        void *address = home.home ? variable_in(*home.home, name) : nullptr;
        rewrite.addresses[id] = reinterpret_cast<uintptr_t>(address);
        if (!address)
            log_ += "the OpenCL runtime does not tell where the variable " + name + " is\n";
        return address != nullptr;
    }

    bool plan(size_t k, size_t i, Rewrite &rewrite) {
        const Unit &unit = *closure_[k];
        const Linkage &linkage = unit.sources[i].linkage;
        const bool is_called = k == 0 && purpose_ == ProgramFor::pointers;
        rewrite.keep_kernels = k == 0 && purpose_ == ProgramFor::kernels;
        rewrite.keep_debug_info = false; // it may refer to variables that are gone
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
    std::set<std::pair<const Unit *, std::string>> wanted_;
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
