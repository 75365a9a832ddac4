// SPDX-License-Identifier: Apache-2.0
#include "isa.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace ze_cpu {
namespace {

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
