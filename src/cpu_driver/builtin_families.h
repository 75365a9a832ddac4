// SPDX-License-Identifier: Apache-2.0
//
// What the families of builtins share. A family answers a symbol with the text that defines it, or with
// nothing.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>

#include "builtins.h"

namespace ze_cpu {

/// Macros around a family's text: what is defined before it is undefined behind it.
class Instance {
public:
    void define(const std::string &name, const std::string &value) {
        before_ += "#define " + name + " " + value + "\n";
        behind_ += "#undef " + name.substr(0, name.find('(')) + "\n";
    }
    void define(const std::string &name, uint32_t value) { define(name, std::to_string(value)); }
    std::string around(const char *text) const { return before_ + text + behind_; }

private:
    std::string before_, behind_;
};

const char *unsigned_of(uint32_t bits);
const char *scalar_name(char letter);
std::string type_name(const MangledType &type);    // as OpenCL C spells it
std::string signature_of(const MangledType &type); // as ImportedFunction does

bool is_one_of(uint32_t value, std::initializer_list<uint32_t> values);

std::optional<Builtin> find_atomic(const std::string &symbol, const MangledName &name,
                                   const std::string &function);
std::optional<Builtin> find_dpas(const std::string &symbol, const MangledName &name,
                                 const std::string &function);
std::optional<Builtin> find_block_2d(const std::string &symbol, const MangledName &name,
                                     const std::string &function);
/// By the names, not mangled, that Intel's compiler has for the same.
std::optional<Builtin> find_flat_dpas(const std::string &symbol, const std::string &function);
std::optional<Builtin> find_flat_block_2d(const std::string &symbol, const std::string &function);
/// `mangled`: null for a name that is not.
std::optional<Builtin> find_other(const std::string &symbol, const MangledName *mangled,
                                  const std::string &function);

} // namespace ze_cpu
