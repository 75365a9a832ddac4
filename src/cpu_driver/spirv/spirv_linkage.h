// SPDX-License-Identifier: Apache-2.0
//
// Reads the names that a module shares with others, and rewrites modules for linking: for zeModuleDynamicLink
// and function pointers. The words must be those of a module that read_spirv has accepted.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace ze_cpu {

struct Symbol {
    uint32_t id = 0;
    bool is_function = false; // else a variable in global or constant memory
    std::string name;
};

/// With the name of a kernel behind it, the linker name of the function that computes work-groups of the
/// kernel: void (const void *arguments, long x, long y, long z, long count). The arguments lie one after the
/// other, each from a multiple of 8 bytes on, structures by value among them. x, y and z are the number of
/// the first group, behind which the others lie along x. The kernel's work-groups have one work-item.
inline constexpr std::string_view group_function_prefix = "ze_cpu_groups_of_";

struct Linkage {
    std::vector<Symbol> imports, exports; // without kernels and without what the environment provides
    std::vector<uint32_t> kernels;        // functions that are exported as kernels
    std::vector<Symbol> group_functions;  // of kernels, which this driver calls; they are no exports
    std::vector<uint32_t> hidden;         // global variables without a linker name
    /// True if variables are initialised with addresses of functions or of imports, which only a
    /// complete program has.
    bool has_linked_values = false;

    const Symbol *find_export(const std::string &name) const;
};

Linkage read_linkage(const std::vector<uint32_t> &words);

struct Rewrite {
    /// Variables that live in another program: constant addresses take their place.
    std::map<uint32_t, uint64_t> addresses;
    /// New linker names of functions and variables; "" takes the name away.
    std::map<uint32_t, std::string> names;
    /// Functions that are called by their address.
    std::vector<uint32_t> called_by_pointer;
    bool keep_kernels = true;   // else they become ordinary functions
    bool keep_functions = true; // else only the module's own variables are left
    bool keep_debug_info = true;
};

/// Returns the module with the changes of `rewrite`.
std::vector<uint32_t> rewrite_spirv(const std::vector<uint32_t> &words, const Rewrite &rewrite);

} // namespace ze_cpu
