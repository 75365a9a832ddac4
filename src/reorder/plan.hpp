// SPDX-License-Identifier: Apache-2.0
// A plan: how a kernel runs a reorder, with its constants, its argument block and its grid.
#pragma once

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "kernels/reorder_args.h"
#include "reorder/problem.hpp"
#include "ze/device.hpp"
#include "ze/module.hpp"

namespace zemm::reorder {

struct plan {
    const char *kernel = nullptr; // its name in kernels.def, and its entry point
    std::vector<ze::spec_constant> constants;
    std::vector<uint8_t> block; // a struct of reorder_args.h, copied to the device at creation
    std::array<uint32_t, 3> group_size = {1, 1, 1};
    std::array<uint32_t, 3> group_count = {}; // zeros for an empty problem
};

// A kernel of the list, and the function that plans reorders with it.
struct implementation {
    const char *name;
    zemm_engine_kind_t device; // the kind of device that it is made for
    // Makes a plan. Returns false, with the reason in why, if the kernel does not take the problem.
    bool (*make_plan)(const problem &p, const ze::device &dev, plan &result, std::string &why);
};

bool plan_quantize(const problem &p, const ze::device &dev, plan &result, std::string &why);
bool plan_quantize_floats(const problem &p, const ze::device &dev, plan &result, std::string &why);
bool plan_pack(const problem &p, const ze::device &dev, plan &result, std::string &why);
bool plan_pack_lanes(const problem &p, const ze::device &dev, plan &result, std::string &why);
bool plan_any(const problem &p, const ze::device &dev, plan &result, std::string &why);
bool plan_f64(const problem &p, const ze::device &dev, plan &result, std::string &why);

// The implementations that take the problem, the fastest first. The log tells why others do not.
// Throws unimplemented if there is none.
std::vector<std::pair<const implementation *, plan>> candidates(const problem &p, const ze::device &dev);

// Where the elements of a tensor are, for kernels.
kernels::reorder_tensor tensor_of(const memory_desc &md);

template <typename T> std::vector<uint8_t> to_bytes(const T &block) {
    std::vector<uint8_t> bytes(sizeof block);
    std::memcpy(bytes.data(), &block, sizeof block);
    return bytes;
}

} // namespace zemm::reorder
