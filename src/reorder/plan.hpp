// SPDX-License-Identifier: Apache-2.0
// Plans how a kernel runs a reorder.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "kernels/args/reorder_args.h"
#include "primitive/launch_plan.hpp"
#include "reorder/problem.hpp"
#include "ze/device.hpp"

namespace zemm::reorder {

// A kernel of the list, and the function that plans reorders with it.
struct implementation {
    const char *name;
    zemm_engine_kind_t device; // the kind of device that it is made for
    // Makes a plan. Returns false, with the reason in why, if the kernel does not take the problem.
    bool (*make_plan)(const problem &p, const ze::device &dev, launch_plan &result, std::string &why);
};

// Sets the reason why a kernel does not take a problem, and returns false.
inline bool refused(std::string &why, std::string reason) {
    why = std::move(reason);
    return false;
}

// Vectors of 16 in a group that quantize_group.h keeps in registers, where sums are of so many elements; 0:
// it does not.
uint32_t vectors_of_group(zemm_dim_t group, zemm_dim_t reduction);
// One of the lengths that has all of a row of k elements ends with it, wherever a multiple of the other one
// ends.
void end_with_row(zemm_dim_t k, zemm_dim_t &group, zemm_dim_t &reduction);
// Of kernels with reorder/quantize_groups.h.
std::vector<ze::spec_constant> quantize_constants(zemm_data_type_t src, uint32_t flags,
                                                  zemm_data_type_t scale, zemm_dim_t group,
                                                  zemm_dim_t reduction);
bool plan_quantize(const problem &p, const ze::device &dev, launch_plan &result, std::string &why);
bool plan_quantize_floats(const problem &p, const ze::device &dev, launch_plan &result, std::string &why);
bool plan_pack(const problem &p, const ze::device &dev, launch_plan &result, std::string &why);
bool plan_pack_lanes(const problem &p, const ze::device &dev, launch_plan &result, std::string &why);
bool plan_any(const problem &p, const ze::device &dev, launch_plan &result, std::string &why);
bool plan_f64(const problem &p, const ze::device &dev, launch_plan &result, std::string &why);

// The implementations that take the problem, the fastest first. The log tells why others do not.
// Throws unimplemented if there is none.
std::vector<std::pair<const implementation *, launch_plan>> candidates(const problem &p,
                                                                       const ze::device &dev);

// Where the elements of a tensor are, for kernels.
kernels::reorder_tensor tensor_of(const memory_desc &md);

} // namespace zemm::reorder
