// SPDX-License-Identifier: Apache-2.0
//
// What a module shares with others by name, and modules that are changed in that: what DynamicLink and
// function pointers need. All of it wants words that read_spirv has taken.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace ze_cpu {

struct Symbol {
    uint32_t id = 0;
    bool is_function = false; // else a variable in global or constant memory
    std::string name;
};

struct Linkage {
    std::vector<Symbol> imports, exports; // without kernels and without what the environment provides
    std::vector<uint32_t> kernels;        // functions that are exported as kernels
    std::vector<uint32_t> hidden;         // variables in global memory that have no name for others
    /// Variables begin with addresses of functions or of what is imported, which only a whole program has.
    bool has_linked_values = false;

    const Symbol *find_export(const std::string &name) const;
};

Linkage read_linkage(const std::vector<uint32_t> &words);

struct Rewrite {
    /// Variables that live in another program: they become constant addresses.
    std::map<uint32_t, uint64_t> addresses;
    /// Functions and variables under another name for the linker; "" for none any more.
    std::map<uint32_t, std::string> names;
    /// Functions that are called by their address.
    std::vector<uint32_t> called_by_pointer;
    bool keep_kernels = true;   // else they become ordinary functions
    bool keep_functions = true; // else only variables that the module has itself stay
    bool keep_debug_info = true;
};

/// The module as `rewrite` wants it.
std::vector<uint32_t> rewrite_spirv(const std::vector<uint32_t> &words, const Rewrite &rewrite);

} // namespace ze_cpu
