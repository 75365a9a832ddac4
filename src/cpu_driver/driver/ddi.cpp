// SPDX-License-Identifier: Apache-2.0
//
// Defines and exports the getters of the DDI tables.
#include <cstdint>
#include <initializer_list>

#include "border/entry_points.h"
#include "process/fork_gate.h"

namespace ze_cpu {
namespace {

using AnyFunction = void (*)();

struct Slot {
    uint32_t minor; // Level Zero 1.<minor> introduced it
    AnyFunction function;
};

/// The function in all slots that this driver does not implement. In the C calling convention the
/// caller removes the arguments, so one function without parameters serves all signatures.
ze_result_t unsupported() {
    return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
}

/// Writes those slots into the table that `version` has.
ze_result_t fill_table(ze_api_version_t version, void *table, std::initializer_list<Slot> slots) {
    if (!table)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    const auto number = uint32_t(version);
    if (ZE_MAJOR_VERSION(number) != 1)
        return ZE_RESULT_ERROR_UNSUPPORTED_VERSION;
    auto *to = static_cast<AnyFunction *>(table);
    for (const Slot &slot : slots) {
        if (slot.minor <= ZE_MINOR_VERSION(number))
            *to = slot.function;
        to++;
    }
    return ZE_RESULT_SUCCESS;
}

} // namespace
} // namespace ze_cpu

// clang-format off
#define ZE_CPU_TABLE(getter)                                                                                 \
    extern "C" ZE_DLLEXPORT ze_result_t getter(ze_api_version_t version, void *table);                       \
    extern "C" ze_result_t getter(ze_api_version_t version, void *table) {                                   \
        return ze_cpu::fill_table(version, table, {
#define ZE_CPU_HAS(minor, name)                                                                              \
            {minor, reinterpret_cast<ze_cpu::AnyFunction>(&ze_cpu::Gated<&ze_cpu::name>::call)},
#define ZE_CPU_NEWER(minor, name) ZE_CPU_HAS(minor, name)
#define ZE_CPU_LACKS(minor, name)                                                                            \
            {minor, reinterpret_cast<ze_cpu::AnyFunction>(&ze_cpu::unsupported)},
#define ZE_CPU_END                                                                                           \
        });                                                                                                  \
    }
#define ZE_CPU_EMPTY(getter) ZE_CPU_TABLE(getter) ZE_CPU_END
// clang-format on
#include "border/tables.def"
