// SPDX-License-Identifier: Apache-2.0
//
// Shared by the families of builtins (builtin_*.cpp). A family's find_...() function returns the
// OpenCL C text that defines a symbol, or nothing if the symbol is not of that family.
#pragma once

#include <optional>
#include <string>

#include "mangled_name.h"

namespace ze_cpu {

/// The text of a family with its macros: they are defined before the text and undefined after it.
class Instance {
public:
    Instance(const std::string &symbol, const std::string &function) {
        define("SYMBOL", "\"" + symbol + "\"");
        define("FUNCTION", function);
    }
    void define(const std::string &name, const std::string &value) {
        before_ += "#define " + name + " " + value + "\n";
        behind_ += "#undef " + name.substr(0, name.find('(')) + "\n";
    }
    void define(const std::string &name, uint32_t value) { define(name, std::to_string(value)); }
    std::string around(const char *text) const { return before_ + text + behind_; }

private:
    std::string before_, behind_;
};

/// The definition of one builtin.
struct Builtin {
    std::string signature; // in the form of ImportedFunction::signature
    std::string text;      // OpenCL C that follows builtin_common
};

std::optional<Builtin> find_atomic(const std::string &symbol, const MangledName &name,
                                   const std::string &function);
std::optional<Builtin> find_dpas(const std::string &symbol, const MangledName &name,
                                 const std::string &function);
std::optional<Builtin> find_block_2d(const std::string &symbol, const MangledName &name,
                                     const std::string &function);
/// These find the compiler's own names (__builtin_IB_*), which are not mangled.
std::optional<Builtin> find_flat_dpas(const std::string &symbol, const std::string &function);
std::optional<Builtin> find_flat_block_2d(const std::string &symbol, const std::string &function);
/// `mangled` is null if `symbol` is not a mangled name.
std::optional<Builtin> find_other(const std::string &symbol, const MangledName *mangled,
                                  const std::string &function);

extern const char builtin_common[], builtin_atomics[], builtin_dpas[], builtin_block_2d[],
    builtin_block_2d_flat[], builtin_other[];

} // namespace ze_cpu
