// SPDX-License-Identifier: Apache-2.0
// The execution arguments of a matmul: what each ZEMM_ARG_... must be, and the check of what a caller passes.
#pragma once

#include <map>
#include <span>

#include "common/objects.hpp"
#include "matmul/problem.hpp"

namespace zemm::matmul {

struct argument {
    memory_desc md;
    bool is_on_host = false; // a host scalar of md's type
    bool is_parameter =
        false; // scales, zero points, reductions: any dense memory with as many elements will do
    bool is_scratchpad = false; // any memory with as many bytes will do
};
using argument_map = std::map<int, argument>; // by ZEMM_ARG_...

// All that an execution needs; scratchpad: zero descriptor unless the caller provides it.
argument_map arguments_of(const problem &p, const memory_desc &scratchpad);

// The inputs that a primitive descriptor counts: src, weights, bias, sources of post-ops.
int num_of_inputs(const argument_map &arguments);

// "ZEMM_ARG_WEIGHTS", "ZEMM_ARG_ATTR_SCALES | ZEMM_ARG_SRC", ...
std::string argument_name(int arg);

// Checks what a caller passes (missing, twice, wrong engine, wrong descriptor, without data:
// invalid_arguments) and gives the memory of each argument. Nothing has been submitted yet when it throws.
std::map<int, zemm_memory_t> bind(const argument_map &arguments, zemm_engine_t engine, bool empty,
                                  std::span<const zemm_exec_arg_t> passed);

} // namespace zemm::matmul
