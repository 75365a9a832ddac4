// SPDX-License-Identifier: Apache-2.0
//
// Software versions of builtins that Intel's GPUs have and the OpenCL CPU runtime lacks: sub-group
// functions, atomics and a few others. A module that imports some of them is linked with a program
// that defines exactly these. Their OpenCL C texts are in builtins/*.cl.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "spirv/spirv.h"

namespace ze_cpu {

/// A parameter type of a mangled name.
struct MangledType {
    enum Kind { number, pointer } kind = number;
    char letter = 'v';          // Itanium's, H for half; for a pointer that of its target
    uint32_t components = 1;    // of a vector; 1 for a scalar
    uint32_t address_space = 0; // of a pointer

    bool operator==(const MangledType &) const = default;
};

struct MangledName {
    std::string name;
    std::vector<MangledType> parameters;
};

/// Parses the Itanium-mangled name of an OpenCL function. Returns nothing for other names, and for
/// types that no builtin here has.
std::optional<MangledName> demangle(const std::string &symbol);

struct NumberType {
    char letter;      // in mangled names, H for half
    const char *name; // in OpenCL C
    uint32_t bits;
    bool is_float = false;
};

/// The number type with this letter; null, and 0 bits, if no number type has it.
const NumberType *number_type(char letter);
uint32_t bits_of(char letter);

/// The definition of one builtin.
struct Builtin {
    std::string signature; // in the form of ImportedFunction::signature
    std::string text;      // OpenCL C that follows builtin_common
};

/// The software version of the builtin `symbol`, if there is one. Its text defines an OpenCL C
/// function named `function`, which must be unused in the program, with `symbol` as its linker
/// name.
std::optional<Builtin> find_builtin(const std::string &symbol, const std::string &function);

/// Composes an OpenCL C program that defines those `imports` which have a software version; the
/// program is empty if none has. Returns false with a sentence in `error` if the module declares a
/// builtin with other types than its name says.
bool compose_builtins(const std::vector<ImportedFunction> &imports, std::string &program, std::string &error);

extern const char builtin_common[], builtin_atomics[], builtin_dpas[], builtin_block_2d[],
    builtin_block_2d_flat[], builtin_other[];

} // namespace ze_cpu
