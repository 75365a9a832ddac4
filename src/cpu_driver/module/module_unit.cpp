// SPDX-License-Identifier: Apache-2.0
#include "module_unit.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "spirv/spirv_walk.h"

namespace ze_cpu {
namespace {

/// Makes constant samplers clamp to the edge if they repeat the image for coordinates that are not
/// normalised. OpenCL does not define such samplers, and the runtime would end the process.
void clamp_samplers(std::vector<uint32_t> &words) {
    spirv_walk::each_instruction(words, [](uint16_t op, std::span<uint32_t> w) {
        if (op != spv::OpConstantSampler)
            return;
        const bool is_normalized = w[4] != 0;
        uint32_t &mode = w[3];
        if (!is_normalized &&
            (mode == spv::SamplerAddressingModeRepeat || mode == spv::SamplerAddressingModeRepeatMirrored))
            mode = spv::SamplerAddressingModeClampToEdge;
    });
}

/// Makes whole barriers of those of SPV_INTEL_split_barrier, which the runtime refuses. As in
/// builtins/other.cl, the arrival waits for all work-items, and the wait does nothing.
void join_split_barriers(std::vector<uint32_t> &words) {
    spirv_walk::each_instruction(words, [](uint16_t op, std::span<uint32_t> w) {
        if (op == spv::OpCapability && w[1] == spv::CapabilitySplitBarrierINTEL)
            w[1] = spv::CapabilityKernel; // modules may declare a capability twice
        else if (op == spv::OpControlBarrierArriveINTEL)
            w[0] = uint32_t(w.size()) << 16 | spv::OpControlBarrier;
        else if (op == spv::OpControlBarrierWaitINTEL)
            std::ranges::fill(w, 1u << 16 | spv::OpNop);
    });
}

bool take_constants(const ze_module_constants_t &given, const std::map<uint32_t, uint32_t> &sizes,
                    Constants &constants, std::string &log) {
    if (given.numConstants && (!given.pConstantIds || !given.pConstantValues)) {
        log += "specialisation constants without ids or values\n";
        return false;
    }
    for (uint32_t i = 0; i < given.numConstants; i++) {
        const uint32_t id = given.pConstantIds[i];
        const auto size = sizes.find(id);
        // Not an error: a program may give the same constants to several modules, and translators
        // drop constants that a module does not use.
        if (size == sizes.end()) {
            log += "the module has no specialisation constant " + std::to_string(id) + "\n";
            continue;
        }
        const auto *value = static_cast<const uint8_t *>(given.pConstantValues[i]);
        if (!value) {
            log += "specialisation constant " + std::to_string(id) + " has no value\n";
            return false;
        }
        constants[id].assign(value, value + size->second);
    }
    return true;
}

/// The SPIR-V of a source in which hidden variables have names, so that their addresses can be
/// found. Without functions only the variables are left.
std::vector<uint32_t> words_of(const Unit &unit, size_t i, bool keep_functions) {
    const Source &source = unit.sources[i];
    Rewrite rewrite;
    rewrite.keep_functions = rewrite.keep_debug_info = keep_functions;
    for (uint32_t id : source.linkage.hidden)
        rewrite.names[id] = hidden_name(i, id);
    if (keep_functions)
        for (const Symbol &function : source.linkage.group_functions)
            rewrite.called_by_pointer.push_back(function.id);
    const bool is_changed = !keep_functions || !rewrite.names.empty() || !rewrite.called_by_pointer.empty();
    return is_changed ? rewrite_spirv(source.words, rewrite) : source.words;
}

ze_result_t build_alone(const Unit &unit, Program &program, std::string &log) {
    std::vector<ImportedFunction> imports;
    for (const Source &source : unit.sources)
        std::copy_if(source.functions.begin(), source.functions.end(), std::back_inserter(imports),
                     [&](const ImportedFunction &f) { return !unit.exports(f.name); });
    ProgramParts parts;
    if (ze_result_t result = parts.add_builtins(imports, log))
        return result;
    const bool is_copied = unit.exports_functions();
    auto words = [&](size_t i) {
        const Source &source = unit.sources[i];
        return is_copied || !source.linkage.group_functions.empty() ? words_of(unit, i, true) : source.words;
    };
    if (unit.sources.size() == 1 && parts.empty()) {
        const Source &source = unit.sources[0];
        ze_result_t result = create_program(words(0), source.constants, program, log);
        return result == ZE_RESULT_SUCCESS ? build_program(program, source.options, log) : result;
    }
    for (size_t i = 0; i < unit.sources.size(); i++)
        if (ze_result_t result = parts.add(words(i), unit.sources[i].constants, unit.sources[i].options, log))
            return result;
    return parts.link(unit.options, program, log);
}

/// Finds the missing imports of a unit without kernels. The runtime looks for symbols only where
/// there is a kernel, so this links the exported functions with an empty one.
void try_functions(const Unit &unit, std::string &log) {
    const bool has_imports = std::any_of(unit.sources.begin(), unit.sources.end(),
                                         [](const Source &s) { return !s.linkage.imports.empty(); });
    if (!has_imports || !unit.exports_functions())
        return;
    Program program;
    const auto borrowed = std::shared_ptr<const Unit>(std::shared_ptr<void>(), &unit);
    link_closure({borrowed}, ProgramFor::pointers, program, log);
}

} // namespace

std::string hidden_name(size_t source, uint32_t id) {
    return "ze_cpu.variable." + std::to_string(source) + "." + std::to_string(id);
}

std::string missing_sentence(const Unit &unit) {
    std::string names;
    for (const std::string &name : unit.unresolved)
        names += (names.empty() ? "" : ", ") + name;
    return "the module imports " + names +
           ", which neither the OpenCL runtime nor this driver has: zeModuleDynamicLink links it with "
           "modules "
           "that export them";
}

bool Unit::exports(const std::string &name) const {
    return std::any_of(sources.begin(), sources.end(),
                       [&](const Source &s) { return s.linkage.find_export(name) != nullptr; });
}

bool Unit::exports_anything() const {
    return std::any_of(sources.begin(), sources.end(),
                       [](const Source &source) { return !source.linkage.exports.empty(); });
}

bool Unit::exports_functions() const {
    return std::any_of(sources.begin(), sources.end(), [](const Source &source) {
        const auto &all = source.linkage.exports;
        return std::any_of(all.begin(), all.end(), [](const Symbol &s) { return s.is_function; });
    });
}

bool Unit::exports_function(const std::string &name) const {
    return std::any_of(sources.begin(), sources.end(), [&](const Source &source) {
        const Symbol *symbol = source.linkage.find_export(name);
        return symbol && symbol->is_function;
    });
}

bool Unit::is_linked() const {
    return std::all_of(unresolved.begin(), unresolved.end(),
                       [&](const std::string &name) { return providers.count(name) != 0; });
}

bool Unit::imports(const std::string &name) const {
    return !exports(name) && std::any_of(sources.begin(), sources.end(), [&](const Source &source) {
        const auto &all = source.linkage.imports;
        return std::any_of(all.begin(), all.end(), [&](const Symbol &s) { return s.name == name; });
    });
}

const Unit *Unit::provider_of(const std::string &name) const {
    if (exports(name))
        return this;
    const auto found = providers.find(name);
    return found == providers.end() ? nullptr : found->second.lock().get();
}

ze_result_t read_source(const uint8_t *data, size_t size, const ze_module_constants_t *constants,
                        std::string options, Source &source, std::vector<KernelInfo> &kernels,
                        std::string &log) {
    SpirvInfo info;
    std::string error;
    if (!read_spirv(data, size, info, error)) {
        log += error + "\n";
        return ZE_RESULT_ERROR_MODULE_BUILD_FAILURE;
    }
    log += opaque_arguments(info);
    if (constants && !take_constants(*constants, info.constant_sizes, source.constants, log))
        return ZE_RESULT_ERROR_MODULE_BUILD_FAILURE;
    source.words = std::move(info.words);
    clamp_samplers(source.words);
    join_split_barriers(source.words);
    source.options = std::move(options);
    source.functions = std::move(info.imports);
    source.linkage = read_linkage(source.words);
    std::move(info.kernels.begin(), info.kernels.end(), std::back_inserter(kernels));
    return ZE_RESULT_SUCCESS;
}

std::vector<std::string> unresolved_of(const Unit &unit, const std::string &log) {
    std::set<std::string> names;
    for (const std::string &name : missing_symbols(log)) {
        if (!unit.imports(name))
            return {};
        names.insert(name);
    }
    return {names.begin(), names.end()};
}

ze_result_t build_unit(Unit &unit, bool has_kernels, std::shared_ptr<const Program> &program,
                       std::string &log) {
    std::string own_log;
    Program built;
    const ze_result_t result = build_alone(unit, built, own_log);
    if (result == ZE_RESULT_SUCCESS) {
        unit.home = program = std::make_shared<const Program>(std::move(built));
        if (!has_kernels)
            try_functions(unit, own_log);
    }
    unit.unresolved = unresolved_of(unit, own_log);
    if (!unit.unresolved.empty())
        log += missing_sentence(unit) + "\n";
    log += own_log;
    return result == ZE_RESULT_SUCCESS || unit.unresolved.empty() ? result : make_home(unit, log);
}

ze_result_t make_home(Unit &unit, std::string &log) {
    ProgramParts parts;
    for (size_t i = 0; i < unit.sources.size(); i++) {
        const Source &source = unit.sources[i];
        if (source.linkage.has_linked_values) {
            log += "the module has variables that begin with addresses of functions or imports, which this "
                   "driver cannot link later\n";
            return ZE_RESULT_ERROR_MODULE_LINK_FAILURE;
        }
        if (ze_result_t result = parts.add(words_of(unit, i, false), source.constants, source.options, log))
            return result;
    }
    Program program;
    const ze_result_t result = parts.link(unit.options, program, log);
    unit.home = std::make_shared<const Program>(std::move(program));
    return result;
}

} // namespace ze_cpu
