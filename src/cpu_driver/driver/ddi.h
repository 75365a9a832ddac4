// SPDX-License-Identifier: Apache-2.0
//
// The DDI tables, through which a loader gets the driver's functions (or a program that opens this
// library itself). A table is an array of function pointers in the order of Level Zero 1.17. New
// versions only append to it, so a slot is described by the minor version that introduced it: a
// caller that asks for version 1.n has room for the slots up to that version, and no more.
//
// This file does not include ze_ddi.h: of the headers in use only the newest has all the tables.
#pragma once

#include <cstddef>
#include <cstdint>

#include <level_zero/ze_api.h>

#include "border/entry_points.h"
#include "process/fork_gate.h"

namespace ze_cpu {

using AnyFunction = void (*)();

struct Slot {
    uint32_t minor; // Level Zero 1.<minor> introduced it
    AnyFunction function;
};

/// The function in all slots that this driver does not implement. In the C calling convention the
/// caller removes the arguments, so one function without parameters serves all signatures.
ze_result_t unsupported();

/// Writes those slots into the table that `version` has.
ze_result_t fill_table(ze_api_version_t version, void *table, const Slot *slots, size_t count);

} // namespace ze_cpu

/// Slots of a table: a function of this driver, or one that it does not implement.
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
