// SPDX-License-Identifier: Apache-2.0
//
// Links modules that import from each other (zeModuleDynamicLink).
#include <algorithm>
#include <set>
#include <span>

#include "border/border.h"
#include "border/entry_points.h"
#include "module.h"

namespace ze_cpu {
namespace {

using Modules = std::span<const ze_module_handle_t>;

std::set<std::string> imports_of(const Unit &unit) {
    std::set<std::string> names;
    for (const Source &source : unit.sources)
        for (const Symbol &symbol : source.linkage.imports)
            if (!unit.exports(symbol.name))
                names.insert(symbol.name);
    return names;
}

/// Whether the module also has an earlier place in the list.
bool is_repeated(Modules modules, size_t i) {
    const auto here = modules.begin() + long(i);
    return std::find(modules.begin(), here, modules[i]) != here;
}

/// The indices of the modules that export a name.
std::vector<size_t> exporters(Modules modules, const std::string &name) {
    std::vector<size_t> found;
    for (size_t i = 0; i < modules.size(); i++)
        if (modules[i]->unit->exports(name) && !is_repeated(modules, i))
            found.push_back(i);
    return found;
}

class Link {
public:
    Link(Modules modules, std::string &log) : modules_(modules), log_(log) {}

    ze_result_t run() {
        bool complete = true;
        for (size_t i = 0; i < modules_.size(); i++)
            complete = resolve(i) && complete;
        if (!complete)
            return ZE_RESULT_ERROR_MODULE_LINK_FAILURE;
        for (const Import &import : found_)
            import.unit->providers[import.name] = import.from;
        const ze_result_t result = build();
        if (result != ZE_RESULT_SUCCESS)
            for (const Import &import : found_) // the units stay as they were
                import.unit->providers.erase(import.name);
        return result;
    }

private:
    struct Import {
        std::shared_ptr<Unit> unit;
        std::string name;
        std::shared_ptr<const Unit> from;
    };
    struct Built {
        ze_module_handle_t module;
        std::shared_ptr<const Program> program;
        std::vector<std::shared_ptr<const Program>> homes;
    };

    bool resolve(size_t i) {
        const std::shared_ptr<Unit> &unit = modules_[i]->unit;
        bool complete = true;
        for (const std::string &name : imports_of(*unit)) {
            if (unit->providers.count(name)) // already linked
                continue;
            const std::vector<size_t> from = exporters(modules_, name);
            const bool needed =
                std::find(unit->unresolved.begin(), unit->unresolved.end(), name) != unit->unresolved.end();
            const std::string what = "module " + std::to_string(i) + " imports " + name;
            if (from.size() == 1) {
                found_.push_back({unit, name, modules_[from[0]]->unit});
                log_ += what + " from module " + std::to_string(from[0]) + "\n";
            } else if (needed && from.empty()) {
                log_ += what + ", which none of the modules exports\n";
                complete = false;
            } else if (needed) {
                log_ += what + ", which several of the modules export\n";
                complete = false;
            }
        }
        return complete;
    }

    /// Makes the programs of the modules that have none. Changes the modules only when all programs
    /// are made.
    ze_result_t build() {
        std::vector<Built> built;
        for (size_t i = 0; i < modules_.size(); i++) {
            if (modules_[i]->built->program || is_repeated(modules_, i))
                continue;
            Program program;
            Closure closure = closure_of(modules_[i]->unit);
            if (ze_result_t result = link_closure(closure, ProgramFor::kernels, program, log_))
                return result == ZE_RESULT_ERROR_MODULE_BUILD_FAILURE ? ZE_RESULT_ERROR_MODULE_LINK_FAILURE
                                                                      : result;
            built.push_back({modules_[i], std::make_shared<const Program>(std::move(program)), {}});
            for (const auto &unit : closure)
                built.back().homes.push_back(unit->home);
        }
        std::vector<Closure> uses;
        for (ze_module_handle_t module : modules_)
            uses.push_back(closure_of(module->unit));
        for (Built &b : built) {
            b.module->built->program = std::move(b.program);
            b.module->built->homes = std::move(b.homes);
        }
        for (size_t i = 0; i < modules_.size(); i++)
            modules_[i]->uses = std::move(uses[i]);
        return ZE_RESULT_SUCCESS;
    }

    Modules modules_;
    std::string &log_;
    std::vector<Import> found_;
};

void append_list(const char *what, size_t module, const std::set<std::string> &names, std::string &log) {
    if (names.empty())
        return;
    log += std::string(what) + " of module " + std::to_string(module) + ":";
    for (const std::string &name : names)
        log += (log.back() == ':' ? " " : ", ") + name;
    log += "\n";
}

void inspect(Modules modules, ze_linkage_inspection_ext_flags_t flags, std::string &log) {
    for (size_t i = 0; i < modules.size(); i++) {
        const Unit &unit = *modules[i]->unit;
        std::set<std::string> imports, unresolvable, exports;
        for (const std::string &name : unit.unresolved)
            (unit.providers.count(name) || !exporters(modules, name).empty() ? imports : unresolvable)
                .insert(name);
        for (const auto &[name, provider] : unit.providers)
            imports.insert(name);
        for (const Source &source : unit.sources)
            for (const Symbol &symbol : source.linkage.exports)
                exports.insert(symbol.name);
        if (flags & ZE_LINKAGE_INSPECTION_EXT_FLAG_IMPORTS)
            append_list("imports", i, imports, log);
        if (flags & ZE_LINKAGE_INSPECTION_EXT_FLAG_UNRESOLVABLE_IMPORTS)
            append_list("unresolvable imports", i, unresolvable, log);
        if (flags & ZE_LINKAGE_INSPECTION_EXT_FLAG_EXPORTS)
            append_list("exports", i, exports, log);
    }
}

} // namespace

std::mutex &link_mutex() {
    static std::mutex mutex;
    return mutex;
}

ze_result_t zeModuleDynamicLink(uint32_t numModules, ze_module_handle_t *phModules,
                                ze_module_build_log_handle_t *phLinkLog) {
    need_pointers(phModules);
    need_each_handle(numModules, phModules);
    auto log = std::make_unique<_ze_module_build_log_handle_t>();
    std::lock_guard lock(link_mutex());
    const ze_result_t result = Link({phModules, numModules}, log->text).run();
    if (phLinkLog)
        *phLinkLog = log.release();
    return result;
}

ze_result_t zeModuleInspectLinkageExt(ze_linkage_inspection_ext_desc_t *pInspectDesc, uint32_t numModules,
                                      ze_module_handle_t *phModules, ze_module_build_log_handle_t *phLog) {
    need_pointers(pInspectDesc, phModules, phLog);
    need_each_handle(numModules, phModules);
    constexpr uint32_t known = ZE_LINKAGE_INSPECTION_EXT_FLAG_IMPORTS |
                               ZE_LINKAGE_INSPECTION_EXT_FLAG_UNRESOLVABLE_IMPORTS |
                               ZE_LINKAGE_INSPECTION_EXT_FLAG_EXPORTS;
    if (pInspectDesc->flags & ~known)
        return ZE_RESULT_ERROR_INVALID_ENUMERATION;
    auto log = std::make_unique<_ze_module_build_log_handle_t>();
    std::lock_guard lock(link_mutex());
    inspect({phModules, numModules}, pInspectDesc->flags, log->text);
    *phLog = log.release();
    return ZE_RESULT_SUCCESS;
}

} // namespace ze_cpu
