// SPDX-License-Identifier: Apache-2.0
#include "isa.h"

#include <cstdlib>
#include <string_view>

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace ze_cpu {
namespace {

#if defined(__x86_64__)
constexpr int eax = 0, edx = 3;
constexpr unsigned avx512_fp16 = 23, amx_tile = 24; // bits of edx in leaf 7

/// Whether a bit of a leaf of CPUID is set.
bool has_bit(unsigned leaf, unsigned sub_leaf, int which, unsigned bit) {
    unsigned registers[4] = {};
    return __get_cpuid_count(leaf, sub_leaf, &registers[0], &registers[1], &registers[2], &registers[3]) &&
           registers[which] >> bit & 1;
}

/// Asks the operating system to let this process use the tiles of AMX; it saves their 8 KB for a
/// thread only once a process has asked. False if it refuses, or does not know tiles.
bool is_given_tiles() {
#if defined(__linux__)
    constexpr long request_permission = 0x1023, tile_data = 18; // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
    return syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
#else
    return false;
#endif
}

/// Whether the OpenCL runtime knows tiles. It ends the process if a module has them and the CPU that
/// it builds for does not. It builds for the CPU at hand, or for the one that a variable of its own
/// names. Without FP16, which all CPUs with tiles have, it might take the CPU for an older one.
bool runtime_knows_tiles() {
    if (const char *target = secure_getenv("CL_CONFIG_CPU_TARGET_ARCH"); target && *target)
        return std::string_view(target).ends_with("rapids"); // sapphirerapids and later
    return has_bit(7, 0, edx, avx512_fp16);
}

/// Whether the runtime emits products of tiles of f16. Its target that has them is Granite Rapids. It might
/// take a later CPU for an older one, so only this one counts.
bool runtime_knows_f16_tiles() {
    if (const char *target = secure_getenv("CL_CONFIG_CPU_TARGET_ARCH"); target && *target)
        return std::string_view(target) == "graniterapids";
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (!__get_cpuid(1, &a, &b, &c, &d))
        return false;
    const unsigned family = a >> 8 & 15, model = (a >> 12 & 0xf0) | (a >> 4 & 15);
    return family == 6 && (model == 0xad || model == 0xae);
}

/// Whether the runtime emits AVX512_BF16. Cooper Lake, the only CPU that has it without VBMI2, is left out:
/// the runtime has no target of that name.
bool runtime_knows_bf16() {
    if (const char *target = secure_getenv("CL_CONFIG_CPU_TARGET_ARCH"); target && *target)
        return std::string_view(target).ends_with("rapids");
    return __builtin_cpu_supports("avx512vbmi2");
}

bool may_use_tiles() {
    return has_bit(7, 0, edx, amx_tile) && runtime_knows_tiles() && is_given_tiles();
}
#endif

std::vector<const char *> find() {
    std::vector<const char *> names = {"ZEX_cpu_xe_builtins"};
#if defined(__x86_64__)
    // __builtin_cpu_supports also checks that the operating system saves the registers. Not every compiler
    // has a name for each bit.
    __builtin_cpu_init();
#define CPU(name) bool(__builtin_cpu_supports(#name))
#define ZEMM_CPU_ISA(name, needs, also, detection)                                                           \
    const bool name = needs && (detection);                                                                  \
    if (name)                                                                                                \
        names.push_back("ZEX_cpu_" #name);
    constexpr bool none = true;
#include "lists/isa.def"
#endif
    return names;
}

} // namespace

const std::vector<const char *> &isa_extensions() {
    static const auto *names =
        new std::vector<const char *>(find()); // leaked, like all of the driver's state
    return *names;
}

} // namespace ze_cpu
