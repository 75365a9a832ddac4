// SPDX-License-Identifier: Apache-2.0
//
// Units: modules as the linker sees them. Programs of the OpenCL runtime share nothing. So a module
// that is linked with others gets a program with copies of their functions. Variables are not
// copied: each lives in one program, its home, and other programs use its address.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "opencl_program.h"
#include "spirv/spirv_linkage.h"

namespace ze_cpu {

/// One SPIR-V input of a module.
struct Source {
    std::vector<uint32_t> words;
    std::string options; // build options of OpenCL
    Constants constants;
    std::vector<ImportedFunction> functions; // that the input imports
    Linkage linkage;
};

/// The inputs of a module, and the program in which its variables live (`home`).
struct Unit {
    std::vector<Source> sources;
    std::string options; // for linking the sources
    std::shared_ptr<const Program> home;
    std::vector<std::string> unresolved; // imports that the runtime, this driver and the unit lack
    std::map<std::string, std::weak_ptr<const Unit>> providers; // linked units, by import

    bool exports(const std::string &name) const;
    bool exports_anything() const;
    bool exports_functions() const;
    bool exports_function(const std::string &name) const;
    bool is_linked() const; // true also if it needs no other unit
    bool imports(const std::string &name) const;
    const Unit *provider_of(const std::string &name) const; // null: the runtime, this driver or nobody
};

/// Reads an input into `source`, and adds its kernels to `kernels`.
ze_result_t read_source(const uint8_t *data, size_t size, const ze_module_constants_t *constants,
                        std::string options, Source &source, std::vector<KernelInfo> &kernels,
                        std::string &log);

/// Builds the unit by itself. Missing imports become its `unresolved` ones. If it cannot be built
/// without them, only its home is made and `program` stays null.
ze_result_t build_unit(Unit &unit, bool has_kernels, std::shared_ptr<const Program> &program,
                       std::string &log);

/// Makes the unit's home a program that has only the unit's variables.
ze_result_t make_home(Unit &unit, std::string &log);

/// A unit, the units that it is linked with, the units that these are linked with, and so on.
using Closure = std::vector<std::shared_ptr<const Unit>>;
Closure closure_of(const std::shared_ptr<const Unit> &unit);

enum class ProgramFor {
    kernels,
    pointers, // to exported functions
};

/// Makes a program for the kernels of the first unit, or for pointers to its exported functions. It
/// contains the functions of the other units that these use.
ze_result_t link_closure(const Closure &closure, ProgramFor purpose, Program &program, std::string &log);

/// The symbols that the runtime's log reports as missing. Empty if one of them is no import of the
/// unit.
std::vector<std::string> unresolved_of(const Unit &unit, const std::string &log);

/// Says in plain words which imports are unresolved.
std::string missing_sentence(const Unit &unit);

/// The linker name for a variable that has none, by which other programs find it.
std::string hidden_name(size_t source, uint32_t id);

} // namespace ze_cpu
