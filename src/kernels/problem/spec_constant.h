// SPDX-License-Identifier: Apache-2.0
// Specialisation constants. Each is read by one function, so that the SPIR-V declares it once.
#pragma once

int __attribute__((overloadable)) __spirv_SpecConstant(int id, int default_value);

#define SPEC_CONSTANT(name, id, default_value)                                                               \
    static inline int spec_##name() { return __spirv_SpecConstant(id, default_value); }
