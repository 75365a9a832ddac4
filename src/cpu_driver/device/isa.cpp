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
/// Asks the operating system to let this process use the tiles of AMX; it saves their 8 KB for a
/// thread only once a process has asked. False if it refuses, or does not know tiles.
bool may_use_tiles() {
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
bool runtime_knows_tiles(unsigned leaf_7_edx) {
    constexpr unsigned avx512_fp16_bit = 1u << 23;
    if (const char *target = secure_getenv("CL_CONFIG_CPU_TARGET_ARCH"); target && *target)
        return std::string_view(target).ends_with("rapids"); // sapphirerapids and later
    return leaf_7_edx & avx512_fp16_bit;
}

/// The same for tiles of f16. The runtime's target that has them is Granite Rapids. It might take a
/// later CPU for an older one, so only this one counts.
bool runtime_knows_f16_tiles() {
    if (const char *target = secure_getenv("CL_CONFIG_CPU_TARGET_ARCH"); target && *target)
        return std::string_view(target) == "graniterapids";
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (!__get_cpuid(1, &a, &b, &c, &d))
        return false;
    const unsigned family = a >> 8 & 15, model = (a >> 12 & 0xf0) | (a >> 4 & 15);
    return family == 6 && (model == 0xad || model == 0xae);
}

/// The same for AVX512_BF16. Cooper Lake, the only CPU that has it without VBMI2, is left out: the
/// runtime has no target of that name.
bool runtime_knows_bf16() {
    if (const char *target = secure_getenv("CL_CONFIG_CPU_TARGET_ARCH"); target && *target)
        return std::string_view(target).ends_with("rapids");
    return __builtin_cpu_supports("avx512vbmi2");
}
#endif

std::vector<const char *> find() {
    std::vector<const char *> names = {"ZEX_cpu_xe_builtins"};
#if defined(__x86_64__)
    // __builtin_cpu_supports also checks that the operating system saves the registers.
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
        return names;
    names.push_back("ZEX_cpu_avx2");
    unsigned a = 0, b = 0, c = 0, d = 0;
    constexpr unsigned avx_vnni_bit = 1u << 4; // not every compiler has a name for it
    if (__get_cpuid_count(7, 1, &a, &b, &c, &d) && (a & avx_vnni_bit))
        names.push_back("ZEX_cpu_avx_vnni");
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
        names.push_back("ZEX_cpu_avx512");
        if (__builtin_cpu_supports("avx512vnni"))
            names.push_back("ZEX_cpu_avx512_vnni");
        constexpr unsigned avx512_bf16_bit = 1u << 5;
        if (__get_cpuid_count(7, 1, &a, &b, &c, &d) && (a & avx512_bf16_bit) && runtime_knows_bf16())
            names.push_back("ZEX_cpu_avx512_bf16");
        constexpr unsigned amx_bf16_bit = 1u << 22, amx_tile_bit = 1u << 24, amx_int8_bit = 1u << 25;
        if (__get_cpuid_count(7, 0, &a, &b, &c, &d) && (d & amx_tile_bit) && runtime_knows_tiles(d) &&
            may_use_tiles()) {
            if (d & amx_int8_bit)
                names.push_back("ZEX_cpu_amx_int8");
            if (d & amx_bf16_bit)
                names.push_back("ZEX_cpu_amx_bf16");
            constexpr unsigned amx_fp16_bit = 1u << 21;
            if (__get_cpuid_count(7, 1, &a, &b, &c, &d) && (a & amx_fp16_bit) && runtime_knows_f16_tiles())
                names.push_back("ZEX_cpu_amx_fp16");
        }
    }
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
