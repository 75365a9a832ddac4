// SPDX-License-Identifier: Apache-2.0
//
// Software versions of builtins that Intel's GPUs have and the OpenCL CPU runtime has not: those of
// sub-groups and atomics. A module that uses some is linked with a program that defines just these. The texts
// are in builtins/*.cl.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "spirv.h"

namespace ze_cpu {

/// A parameter type of a mangled name.
struct MangledType {
    enum Kind { number, pointer } kind = number;
    char letter = 'v';          // Itanium's, H for half; of what a pointer points to
    uint32_t components = 1;    // of the number
    uint32_t address_space = 0; // of the pointer

    bool operator==(const MangledType &) const = default;
};

struct MangledName {
    std::string name;
    std::vector<MangledType> parameters;
};

/// Reads an Itanium-mangled OpenCL function; nothing if it is none, or has types that no builtin here has.
std::optional<MangledName> demangle(const std::string &symbol);

/// Bits of a number by its letter; 0 = not a number.
uint32_t bits_of(char letter);

/// One builtin to be defined.
struct Builtin {
    std::string signature; // as ImportedFunction's
    std::string text;      // OpenCL C that comes after builtin_common
};

/// The software version of what `symbol` names, if there is one. `function` is a name that is free in the
/// program.
std::optional<Builtin> find_builtin(const std::string &symbol, const std::string &function);

/// An OpenCL C program that defines those of `imports` that are found; empty if none is. False with a
/// sentence in `error` if a module uses one with other types than its name has.
bool compose_builtins(const std::vector<ImportedFunction> &imports, std::string &program, std::string &error);

extern const char builtin_common[], builtin_atomics[], builtin_dpas[], builtin_block_2d[],
    builtin_block_2d_flat[], builtin_other[];

} // namespace ze_cpu
