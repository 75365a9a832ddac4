// SPDX-License-Identifier: Apache-2.0
//
// What modules are to each other. Programs of the OpenCL runtime share nothing, so a module that is linked
// with others gets a program with copies of their functions in it. Variables are not copied: each has one
// home, and other programs have its address instead.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "opencl_program.h"
#include "spirv_linkage.h"

namespace ze_cpu {

/// One input in IL.
struct Source {
    std::vector<uint32_t> words;
    std::string options; // OpenCL's
    Constants constants;
    std::vector<ImportedFunction> functions; // imported
    Linkage linkage;
};

/// A module's inputs and where its variables live.
struct Unit {
    std::vector<Source> sources;
    std::string options; // to link them
    std::shared_ptr<const Program> home;
    std::vector<std::string> unresolved; // imports that neither the unit nor this driver has
    std::map<std::string, std::weak_ptr<const Unit>> providers; // of imports, when the unit is linked

    bool exports(const std::string &name) const;
    bool exports_anything() const;
    bool exports_functions() const;
    bool exports_function(const std::string &name) const;
    bool is_linked() const; // or needs no others
    bool imports(const std::string &name) const;
    const Unit *provider_of(const std::string &name) const; // null: the runtime, this driver or nobody
};

ze_result_t read_source(const uint8_t *data, size_t size, const ze_module_constants_t *constants,
                        std::string options, Source &source, std::vector<KernelInfo> &kernels,
                        std::string &log);

/// Builds the unit by itself. If that cannot be for what it imports, these are its unresolved ones then and
/// there is no program.
ze_result_t build_unit(Unit &unit, bool has_kernels, std::shared_ptr<const Program> &program,
                       std::string &log);

/// Makes a program that has the unit's variables only.
ze_result_t make_home(Unit &unit, std::string &log);

/// The unit, those that it uses, those that they use ...
using Closure = std::vector<std::shared_ptr<const Unit>>;
Closure closure_of(const std::shared_ptr<const Unit> &unit);

enum class ProgramFor {
    kernels,
    pointers, // to exported functions
};

/// Makes a program for the kernels or the exported functions of the first unit, with what they use of the
/// others.
ze_result_t link_closure(const Closure &closure, ProgramFor purpose, Program &program, std::string &log);

/// Names that the runtime's log calls missing, if all are imports of the unit.
std::vector<std::string> unresolved_of(const Unit &unit, const std::string &log);

/// Says in plain words which imports are unresolved.
std::string missing_sentence(const Unit &unit);

/// By what others find a variable that has no name.
std::string hidden_name(size_t source, uint32_t id);

} // namespace ze_cpu
