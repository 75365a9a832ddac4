// SPDX-License-Identifier: Apache-2.0
// The execution arguments of a primitive: what each ZEMM_ARG_... must be, and the check of what a caller
// passes.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>

#include "common/attr.hpp"
#include "primitive/objects.hpp"

namespace zemm {

struct argument {
    memory_desc md;
    bool is_on_host = false; // a host scalar of md's type
    bool is_parameter =
        false; // scales, zero points, reductions: any dense memory with as many elements will do
    bool is_scratchpad = false;     // any memory with as many bytes will do
    zemm_engine_t engine = nullptr; // where it must be; nullptr: the primitive's
};
using argument_map = std::map<int, argument>; // by ZEMM_ARG_...

// Adds what an execution gets for an attribute's entries. flag: ZEMM_ARG_ATTR_SCALES or the like; tensor_of:
// the tensor that an entry's argument stands for.
void add_parameters(argument_map &arguments, int flag, const quant_map &entries,
                    const std::function<const memory_desc &(int arg)> &tensor_of);

// The inputs that a primitive descriptor counts: src, weights, bias, sources of post-ops.
int num_of_inputs(const argument_map &arguments);

// "ZEMM_ARG_WEIGHTS", "ZEMM_ARG_ATTR_SCALES | ZEMM_ARG_SRC", ...
std::string argument_name(int arg);

// Checks what a caller passes (missing, twice, wrong engine, wrong descriptor, without data:
// invalid_arguments) and gives the memory of each argument. Nothing has been submitted yet when it throws.
std::map<int, zemm_memory_t> bind(const argument_map &arguments, zemm_engine_t engine, bool empty,
                                  std::span<const zemm_exec_arg_t> passed);

// The value of a host scalar as the kernels take it: scales as f32, zero points as s32.
float scalar_as_float(const zemm_memory &memory);
int32_t scalar_as_int(const zemm_memory &memory);

// The memories of an execution, as kernels see them.
struct bound_arguments {
    const std::map<int, zemm_memory_t> &memories;

    const zemm_memory *find(int arg) const;
    void *pointer(int arg) const; // nullptr where there is none
    uint64_t address(int arg) const { return reinterpret_cast<uint64_t>(pointer(arg)); }
    float scale(int arg) const;        // a host scalar's value, else 1
    int32_t zero_point(int arg) const; // a host scalar's value, else 0
};

} // namespace zemm
