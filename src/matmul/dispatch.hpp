// SPDX-License-Identifier: Apache-2.0
// The list of matmul kernels and which of them takes a problem.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "matmul/family.hpp"
#include "matmul/problem.hpp"
#include "matmul/split.hpp"
#include "ze/device.hpp"

namespace zemm::matmul {

// What a policy multiplies (src/kernels/policy).
enum class operands {
    int8,      // bytes of src as they are with bytes of weights of the other signedness
    f32,       // everything as f32
    dpas_int8, // bytes of src with bytes or 4-bit weights, whatever their signedness
    dp4a_int8, // the same by dot products of four bytes
    dpas_half, // f16 with f16, bf16 with bf16, or either with integers; f32 likewise, as bf16 or sums of two
    fma,       // floats with floats or integers, as f32
    dpas_tf32, // f32 with f32 or integers, as tf32
};

// The layout of weights that a kernel asks for when the caller leaves it open.
enum class weights_layout {
    plain,
    packed, // packing.hpp
};

// A row of kernels.def.
struct kernel_row {
    const char *name;
    int tile_m, tile_n; // rows and columns of dst of one work-item
    int tile_k;         // elements of K in a panel of weights
    int rows;           // that the policy multiplies at once
    int lanes;          // columns in one of its vectors
    int group_x;        // tiles of a group along the columns
    int wide_n;         // columns of the tile that is better unless it computes a third too much; 0: none
    int work_items;     // that share a tile: 1, or those of a sub-group
    int group_y;        // tiles of a group along the rows, at most
    int grf;            // registers of a GPU's thread; 0: no choice
    isa_family family;
    operands multiplies;
    weights_layout weights; // for tag any
    // True if the kernel takes the problem on the device; else says why not.
    bool (*supports)(const problem &p, const ze::device &dev, std::string &why);
};

struct packing; // pack_first.hpp

// A row that takes a problem, and the problem with the weights' layout that it wants; where a sub-group owns
// a tile, whether weights are packed first, how tiles and K are dealt, and the clocks that this is estimated
// to take.
struct candidate {
    const kernel_row *row;
    std::shared_ptr<const struct problem> problem;
    std::shared_ptr<const packing> packs_first = nullptr;
    split dealt = {};
    double clocks = 0;
};

// The rows that take the problem, in the order of kernels.def. Refusals go to the log
// (ZEMM_VERBOSE=dispatch). ZEMM_KERNEL=<name> keeps only that row; unimplemented when nothing is left.
std::vector<candidate> candidates(const problem &p, const ze::device &dev);

} // namespace zemm::matmul
