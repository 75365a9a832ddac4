// SPDX-License-Identifier: Apache-2.0
// How one kernel runs one reorder: its constants, its argument block and its grid.
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
    const char *kernel = nullptr; // its row of kernels.def and its entry point
    std::vector<ze::spec_constant> constants;
    std::vector<uint8_t> block; // copied to the device at creation
    std::array<uint32_t, 3> group_size = {1, 1, 1};
    std::array<uint32_t, 3> group_count = {}; // zeros for an empty problem
};

// A kernel that takes some reorders.
struct implementation {
    const char *name;
    zemm_engine_kind_t device; // that it is made for
    // False, and why not, when it does not take the problem.
    bool (*make_plan)(const problem &p, const ze::device &dev, plan &result, std::string &why);
};

bool plan_quantize(const problem &p, const ze::device &dev, plan &result, std::string &why);
bool plan_pack(const problem &p, const ze::device &dev, plan &result, std::string &why);
bool plan_pack_lanes(const problem &p, const ze::device &dev, plan &result, std::string &why);
bool plan_any(const problem &p, const ze::device &dev, plan &result, std::string &why);

// Those that take the problem, fastest first. Refusals go to the log; unimplemented when nothing is left.
std::vector<std::pair<const implementation *, plan>> candidates(const problem &p, const ze::device &dev);

template <typename T> std::vector<uint8_t> to_bytes(const T &block) {
    std::vector<uint8_t> bytes(sizeof block);
    std::memcpy(bytes.data(), &block, sizeof block);
    return bytes;
}

// groups() of a reorder.
uint32_t group_count(zemm_dim_t items, zemm_dim_t per_group);

} // namespace zemm::reorder
