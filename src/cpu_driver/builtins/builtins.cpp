// SPDX-License-Identifier: Apache-2.0
#include "builtins.h"

#include <algorithm>
#include <set>

#include "builtin_families.h"

namespace ze_cpu {

const char *unsigned_of(uint32_t bits) {
    return bits == 8 ? "uchar" : bits == 16 ? "ushort" : bits == 32 ? "uint" : "ulong";
}

const char *scalar_name(char letter) {
    return number_type(letter)->name;
}

std::string type_name(const MangledType &type) {
    return scalar_name(type.letter) + (type.components > 1 ? std::to_string(type.components) : "");
}

std::string signature_of(const MangledType &type) {
    const NumberType &number = *number_type(type.letter);
    return (number.is_float ? "f" : "i") + std::to_string(number.bits) +
           (type.components > 1 ? "x" + std::to_string(type.components) : "");
}

bool is_one_of(uint32_t value, std::initializer_list<uint32_t> values) {
    return std::ranges::find(values, value) != values.end();
}

std::optional<Builtin> find_builtin(const std::string &symbol, const std::string &function) {
    // The symbol becomes part of a program's text, and the scanf formats of the families would
    // accept blanks and signs.
    if (symbol.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") !=
        std::string::npos)
        return {};
    if (auto found = find_flat_block_2d(symbol, function))
        return found;
    if (auto found = find_flat_dpas(symbol, function))
        return found;
    const std::optional<MangledName> mangled = demangle(symbol);
    if (auto found = find_other(symbol, mangled ? &*mangled : nullptr, function))
        return found;
    if (!mangled)
        return {};
    if (auto found = find_atomic(symbol, *mangled, function))
        return found;
    if (auto found = find_dpas(symbol, *mangled, function))
        return found;
    return find_block_2d(symbol, *mangled, function);
}

bool compose_builtins(const std::vector<ImportedFunction> &imports, std::string &program,
                      std::string &error) {
    std::set<std::string> done;
    program.clear();
    for (const ImportedFunction &import : imports) {
        const std::optional<Builtin> builtin =
            find_builtin(import.name, "ze_builtin_" + std::to_string(done.size()));
        if (!builtin)
            continue;
        if (import.signature != builtin->signature) {
            error = "the module imports " + import.name + " as " + import.signature + ", which is " +
                    builtin->signature;
            return false;
        }
        if (done.insert(import.name).second)
            program += builtin->text;
    }
    if (!program.empty())
        program.insert(0, builtin_common);
    return true;
}

} // namespace ze_cpu
