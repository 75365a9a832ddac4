// SPDX-License-Identifier: Apache-2.0
//
// The tables through which a loader (or a program that opens this library by itself) gets at the driver. They
// are arrays of function pointers, in the order of Level Zero 1.17 and only ever appended to, so a slot is
// described by the minor version that introduced it: who asks with version 1.n has room for the slots up to
// n, and no more.
//
// ze_ddi.h is not included here: of the headers in use only the newest knows all the tables.
#pragma once

#include <cstddef>
#include <cstdint>

#include <level_zero/ze_api.h>

#include "entry_points.h"
#include "fork_gate.h"

namespace ze_cpu {

using AnyFunction = void (*)();

struct Slot {
    uint32_t minor; // Level Zero 1.<minor> introduced it
    AnyFunction function;
};

/// What every slot holds that has nothing behind it. The C calling convention lets the caller clean up, so
/// one function without parameters serves all.
ze_result_t unsupported();

ze_result_t fill_table(ze_api_version_t version, void *table, const Slot *slots, size_t count);

} // namespace ze_cpu

#define HAS(minor, name)                                                                                     \
    { minor, reinterpret_cast<ze_cpu::AnyFunction>(&ze_cpu::Gated<&ze_cpu::name>::call) }
#define LACKS(minor, name)                                                                                   \
    { minor, reinterpret_cast<ze_cpu::AnyFunction>(&ze_cpu::unsupported) }

/// Defines and exports the getter of a table: ZE_CPU_TABLE(getter, slots...)
#define ZE_CPU_TABLE(getter, ...)                                                                            \
    extern "C" ZE_DLLEXPORT ze_result_t getter(ze_api_version_t version, void *table);                       \
    extern "C" ze_result_t getter(ze_api_version_t version, void *table) {                                   \
        static const ze_cpu::Slot slots[] = {__VA_ARGS__};                                                   \
        return ze_cpu::fill_table(version, table, slots, sizeof slots / sizeof slots[0]);                    \
    }
