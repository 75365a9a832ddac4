// SPDX-License-Identifier: Apache-2.0
#include "stack_for_calls.h"

#include <string_view>

#include "process/large_stack.h"

namespace ze_cpu {
namespace {

cl::Api the_runtimes; // the functions as the runtime has them

template <auto member> struct WithStack;
template <class Result, class... Parameters, Result (*cl::Api::*member)(Parameters...)>
struct WithStack<member> {
    static Result call(Parameters... parameters) {
        return with_large_stack([&] { return (the_runtimes.*member)(parameters...); });
    }
};

/// Whether the function compiles, or runs kernels. Others, which destructors call, must not fail.
constexpr bool needs_stack(std::string_view name) {
    for (const char *begin : {"clBuild", "clCompile", "clLink", "clCreateProgram", "clCreateKernel",
                              "clEnqueue", "clFlush", "clFinish", "clWaitForEvents"})
        if (name.starts_with(begin))
            return true;
    return false;
}

} // namespace

void give_stack_to_calls(cl::Api &api) {
    the_runtimes = api;
#define ZE_CPU_GIVE_STACK(name, result, parameters)                                                          \
    if constexpr (needs_stack(#name))                                                                        \
        api.name = &WithStack<&cl::Api::name>::call;
    ZE_CPU_OPENCL_FUNCTIONS(ZE_CPU_GIVE_STACK)
#undef ZE_CPU_GIVE_STACK
}

} // namespace ze_cpu
