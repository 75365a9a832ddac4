// SPDX-License-Identifier: Apache-2.0
//
// Reads from a SPIR-V module what Level Zero needs and OpenCL does not tell for modules given as
// IL: which kernel arguments are pointers, the sizes of the others, imported functions, and the
// sizes of specialisation constants.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "imported_function.h"

namespace ze_cpu {

enum class ArgKind : uint32_t {
    pointer, // __global or __constant: the value is an address
    local,   // __local: the value is null, the size is that of the memory
    value,   // bytes that are passed as they are, also a structure by value
    opaque,  // anything of unknown size, and structures with such members: not supported
    image,   // of any type
    sampler,
};

struct ArgInfo {
    ArgKind kind = ArgKind::value;
    uint32_t size = 0;  // in bytes
    uint32_t least = 1; // bytes of a value that must be given: all but a structure's final padding
};

struct KernelInfo {
    std::string name;
    std::vector<ArgInfo> args;
    std::array<uint32_t, 3> required_group_size{}; // zeros: any
    uint32_t required_sub_group_size = 0;          // 0: any
    uint32_t required_sub_groups = 0;              // 0: any
    uint32_t has_group_function = 0;               // 0 or 1, see spirv_linkage.h
    std::string attributes;                        // in OpenCL C: "reqd_work_group_size(8,2,1)"
};

struct SpirvInfo {
    std::vector<uint32_t> words; // the module, in this machine's order
    std::vector<KernelInfo> kernels;
    std::vector<ImportedFunction> imports;
    std::map<uint32_t, uint32_t> constant_sizes; // SpecId -> bytes
};

/// Parses a module of `size` bytes, which may contain anything: each word is checked before it is
/// used. A module that is cut off, or whose instructions do not fit together, is refused with a
/// sentence in `error`. So the OpenCL runtime, which trusts what it reads, never sees it.
bool read_spirv(const uint8_t *data, size_t size, SpirvInfo &info, std::string &error);

/// One line for each opaque kernel argument, which says why its kernel cannot be created.
std::string opaque_arguments(const SpirvInfo &info);

} // namespace ze_cpu
