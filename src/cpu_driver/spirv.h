// SPDX-License-Identifier: Apache-2.0
//
// Reads from a SPIR-V module what Level Zero needs and OpenCL does not tell for modules given as IL: which
// kernel arguments are pointers, how large the others are, and the sizes of specialisation constants.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace ze_cpu {

enum class ArgKind : uint8_t {
    pointer, // __global or __constant: the value is an address
    local,   // __local: the value is null, the size is that of the memory
    value,   // bytes, passed as they are; structures by value too
    opaque,  // anything else of unknown size, structures with such members: not supported
    image,   // of any type
    sampler,
};

struct ArgInfo {
    ArgKind kind = ArgKind::value;
    uint32_t size = 0; // in bytes
    uint32_t least =
        1; // bytes of a value that have to be given: of a structure all but the padding at its end
};

struct KernelInfo {
    std::string name;
    std::vector<ArgInfo> args;
    std::array<uint32_t, 3> required_group_size{}; // zeros: free
    uint32_t required_sub_group_size = 0;          // 0: free
    uint32_t required_sub_groups = 0;              // 0: free
    std::string attributes;                        // those of OpenCL C: "reqd_work_group_size(8,2,1)"
};

/// A function that the module does not have and calls, or that the OpenCL runtime calls for an atomic
/// instruction of it.
struct ImportedFunction {
    std::string name;
    /// Result and parameters: v, i32, f32x8, p1 (a pointer, with its storage class), ? (anything else); for
    /// example "i32x8(i16x8,i32x8,i32x8)".
    std::string signature;
};

struct SpirvInfo {
    std::vector<uint32_t> words; // the module, in this machine's order
    std::vector<KernelInfo> kernels;
    std::vector<ImportedFunction> imports;
    std::map<uint32_t, uint32_t> constant_sizes; // SpecId -> bytes
};

/// Parses `size` bytes. The data may be anything: every word is checked before use, and a module that is cut
/// off, or whose instructions do not fit together, is refused with a sentence in `error` (so that the OpenCL
/// runtime, which trusts what it reads, never sees it).
bool read_spirv(const uint8_t *data, size_t size, SpirvInfo &info, std::string &error);

/// A line for each kernel argument that is opaque: why its kernel cannot be created.
std::string opaque_arguments(const SpirvInfo &info);

} // namespace ze_cpu
