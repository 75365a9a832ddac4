// SPDX-License-Identifier: Apache-2.0
// The execution arguments of a primitive: what each ZEMM_ARG_... must be, and the check of what a
// caller passes.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/attr.hpp"
#include "primitive/objects.hpp"

namespace zemm {

// Where the memory of an argument may lie, seen from dst's. Kernels read src and parameters after they have
// written parts of dst. They read what the epilogue needs of an element before they write it.
enum class placement {
    any,          // not checked
    apart,        // it shares no memory with dst
    apart_or_dst, // the same, or it is dst, element by element
    dst,          // it is dst
};

struct argument {
    memory_desc md;
    // A host scalar of md's type, or a memory of one element that the host can read.
    bool is_on_host = false;
    // Scales, zero points or reductions: any memory of at least md's size is accepted. It is read
    // as dense, whatever its dimensions and strides. (execute.cpp makes memories of md's
    // dimensions dense before.)
    bool is_parameter = false;
    bool is_result = false;         // a parameter that the execution writes
    bool is_common = false;         // a parameter that is one value for the whole tensor
    bool is_scratchpad = false;     // any memory of at least md's size is accepted
    zemm_engine_t engine = nullptr; // the engine of the memory; nullptr: the primitive's
    placement placed = placement::any;
};
using argument_map = std::map<int, argument>; // by ZEMM_ARG_...

// Adds the arguments for an attribute's entries. flag: ZEMM_ARG_ATTR_SCALES or the like. tensor_of:
// returns the tensor that an entry's parameters are for.
void add_parameters(argument_map &arguments, int flag, const quant_map &entries,
                    const std::function<const memory_desc &(int arg)> &tensor_of);

// Adds an argument that is one number: a host scalar, or a tensor of one element.
void add_number(argument_map &arguments, int arg, zemm_data_type_t dt, bool is_on_host);

// The number of inputs in the queries of a primitive descriptor: src, weights, bias and tensors of
// post-ops.
int num_of_inputs(const argument_map &arguments);

// "ZEMM_ARG_WEIGHTS", "ZEMM_ARG_ATTR_SCALES | ZEMM_ARG_SRC", ...
std::string argument_name(int arg);

// The memories of an execution by ZEMM_ARG_..., in the order of these numbers.
class memory_map {
public:
    using entry = std::pair<int, zemm_memory_t>;

    memory_map() = default;
    explicit memory_map(size_t most) { entries_.reserve(most); }

    auto begin() const { return entries_.begin(); }
    auto end() const { return entries_.end(); }
    zemm_memory_t find(int arg) const; // nullptr if there is none
    // The argument must be there.
    zemm_memory_t at(int arg) const { return find(arg); }
    void replace(int arg, zemm_memory_t memory) { place_of(arg)->second = memory; }
    // Returns false, and changes nothing, if there is a memory of the argument.
    bool add(int arg, zemm_memory_t memory);

private:
    std::vector<entry>::iterator place_of(int arg); // the first entry that is not before it

    std::vector<entry> entries_; // few, and a vector is one allocation
};

// Returns the memory of each argument after checking what the caller passes. Throws
// invalid_arguments if an argument is missing, passed twice, of another engine or descriptor, without
// data, or in a place where it may not be. An execution binds its arguments before it submits anything, so
// that a refused one has no effect.
memory_map bind(const argument_map &arguments, zemm_engine_t engine, bool empty,
                std::span<const zemm_exec_arg_t> passed);

// The memories of an execution, in the form that kernels need.
struct bound_arguments {
    const memory_map &memories;
    const argument_map &arguments; // what the memories were checked against

    const zemm_memory *find(int arg) const;
    void *pointer(int arg) const; // nullptr if the argument has no buffer
    uint64_t address(int arg) const { return reinterpret_cast<uint64_t>(pointer(arg)); }
    // The value of a parameter that is on the host; nullptr for all other arguments.
    const void *host_value(int arg) const;
    // The value in the type that kernels read it as. The argument must be such a parameter.
    float host_f32(int arg) const;
    int32_t host_zero_point(int arg) const; // the bits of an f32 for floats
    int64_t host_s64(int arg) const;
};

} // namespace zemm
