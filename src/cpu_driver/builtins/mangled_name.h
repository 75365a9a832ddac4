// SPDX-License-Identifier: Apache-2.0
//
// The mangled names of OpenCL functions, and their types in OpenCL C.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

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

const char *unsigned_of(uint32_t bits);            // the OpenCL C type of this size
const char *scalar_name(char letter);              // the OpenCL C type of a letter in mangled names
std::string type_name(const MangledType &type);    // in OpenCL C
std::string signature_of(const MangledType &type); // in the form of ImportedFunction::signature

bool is_one_of(uint32_t value, std::initializer_list<uint32_t> values);

} // namespace ze_cpu
