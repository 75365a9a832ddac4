// SPDX-License-Identifier: Apache-2.0
//
// Recognises imported atomic functions and composes their software versions (builtins/atomics.cl).
#include "builtin_families.h"

#include <algorithm>

namespace ze_cpu {
namespace {

/// An atomic operation: the end of its function's name, and the macro (name and value) that selects
/// it in atomics.cl, for integers and for floats. A null macro: the operation does not exist for
/// these.
struct Operation {
    const char *name;
    size_t operands; // after the pointer
    std::pair<const char *, const char *> of_integers, of_floats;
};
constexpr Operation operations[] = {
    {"add", 1, {"FETCH", "__atomic_fetch_add"}, {"COMBINE(a, b)", "((a) + (b))"}},
    {"sub", 1, {"FETCH", "__atomic_fetch_sub"}, {}},
    {"min", 1, {"FETCH", "__atomic_fetch_min"}, {"COMBINE(a, b)", "fmin(a, b)"}},
    {"max", 1, {"FETCH", "__atomic_fetch_max"}, {"COMBINE(a, b)", "fmax(a, b)"}},
    {"and", 1, {"FETCH", "__atomic_fetch_and"}, {}},
    {"or", 1, {"FETCH", "__atomic_fetch_or"}, {}},
    {"xor", 1, {"FETCH", "__atomic_fetch_xor"}, {}},
    {"inc", 0, {"STEP", "1"}, {}},
    {"dec", 0, {"STEP", "-1"}, {}},
    {"xchg", 1, {"EXCHANGE", "1"}, {"EXCHANGE", "1"}},
    {"cmpxchg", 2, {"COMPARE", "1"}, {}},
};

/// An address space: its number in mangled names, its OpenCL C keyword, and its SPIR-V storage
/// class in the form of ImportedFunction::signature.
struct Space {
    uint32_t number;
    const char *name;
    const char *storage;
};
constexpr Space spaces[] = {
    {0, "__private", "p7"}, {1, "__global", "p5"}, {3, "__local", "p4"}, {4, "__generic", "p8"}};

/// Whether the OpenCL runtime has this function itself.
bool is_of_runtime(const MangledType &pointer, const std::string &operation) {
    if (pointer.address_space != 1 && pointer.address_space != 3)
        return false;
    switch (pointer.letter) {
    case 'H':
        return operation == "min" || operation == "max";
    case 'd':
        return operation != "xchg";
    default:
        return bits_of(pointer.letter) >= 32;
    }
}

} // namespace

/// Recognises atomic_<operation>(pointer, operands...), and for 64-bit integers atom_<operation>.
std::optional<Builtin> find_atomic(const std::string &symbol, const MangledName &mangled,
                                   const std::string &function) {
    if (mangled.parameters.empty() || mangled.parameters[0].kind != MangledType::pointer)
        return {};
    const MangledType &pointer = mangled.parameters[0];
    const MangledType value{MangledType::number, pointer.letter, 1, 0};
    const NumberType *type = number_type(value.letter);
    if (!type)
        return {};
    const std::string prefix = type->bits == 64 && !type->is_float ? "atom_" : "atomic_";
    if (mangled.name.rfind(prefix, 0) != 0)
        return {};
    const std::string name = mangled.name.substr(prefix.size());
    const Space *space = std::find_if(std::begin(spaces), std::end(spaces),
                                      [&](const Space &s) { return s.number == pointer.address_space; });
    const Operation *operation = std::find_if(std::begin(operations), std::end(operations),
                                              [&](const Operation &o) { return name == o.name; });
    if (space == std::end(spaces) || operation == std::end(operations) || is_of_runtime(pointer, name))
        return {};
    const auto &[macro, meaning] = type->is_float ? operation->of_floats : operation->of_integers;
    if (!macro || mangled.parameters.size() != 1 + operation->operands)
        return {};
    std::string signature = signature_of(value) + "(" + space->storage;
    for (size_t n = 1; n < mangled.parameters.size(); n++) {
        if (mangled.parameters[n] != value)
            return {};
        signature += "," + signature_of(value);
    }
    const std::string of_same_size = unsigned_of(type->bits);
    Instance instance(symbol, function);
    instance.define("SPACE", space->name);
    instance.define("VALUE", type->name);
    instance.define("AS_VALUE", std::string("as_") + type->name);
    instance.define("BITS", of_same_size);
    instance.define("AS_BITS", "as_" + of_same_size);
    instance.define("IS_SUM", name == "add");
    instance.define(macro, meaning);
    return Builtin{signature + ")", instance.around(builtin_atomics)};
}

} // namespace ze_cpu
