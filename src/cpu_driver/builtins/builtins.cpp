// SPDX-License-Identifier: Apache-2.0
#include "builtins.h"

#include <set>

#include "builtin_families.h"

namespace ze_cpu {

namespace {

/// The software version of the builtin `symbol`, if there is one. Its text defines an OpenCL C
/// function named `function`, which must be unused in the program, with `symbol` as its linker
/// name.
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

} // namespace

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
