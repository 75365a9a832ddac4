// SPDX-License-Identifier: Apache-2.0
#include "room_for_calls.h"

#include <string>
#include <string_view>

#include "border/refusal.h"
#include "process/reserve.h"
#include "stack/large_stack.h"

namespace ze_cpu {
namespace {

cl::Api the_runtimes; // the functions as the runtime has them

/// Whether the function adds to a queue.
constexpr bool enqueues(std::string_view name) {
    return name.starts_with("clEnqueue");
}

/// Whether the function compiles, or runs kernels. Others, which destructors call, must not fail.
constexpr bool needs_stack(std::string_view name) {
    for (const char *begin : {"clBuild", "clCompile", "clLink", "clCreateProgram", "clCreateKernel",
                              "clFlush", "clFinish", "clWaitForEvents"})
        if (name.starts_with(begin))
            return true;
    return enqueues(name);
}

template <auto member, bool is_enqueued> struct WithRoom;
template <class Result, class... Parameters, Result (*cl::Api::*member)(Parameters...), bool is_enqueued>
struct WithRoom<member, is_enqueued> {
    static Result call(Parameters... parameters) {
        if constexpr (is_enqueued)
            if (!has_reserve())
                return cl::out_of_host_memory;
        return stack::with_large(
            [&] { return (the_runtimes.*member)(parameters...); },
            [](const std::string &problem) { throw refuse(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, problem); });
    }
};

} // namespace

void give_room_to_calls(cl::Api &api) {
    the_runtimes = api;
#define ZE_CPU_GIVE_ROOM(name, result, parameters)                                                           \
    if constexpr (needs_stack(#name))                                                                        \
        api.name = &WithRoom<&cl::Api::name, enqueues(#name)>::call;
    ZE_CPU_OPENCL_FUNCTIONS(ZE_CPU_GIVE_ROOM)
#undef ZE_CPU_GIVE_ROOM
}

} // namespace ze_cpu
