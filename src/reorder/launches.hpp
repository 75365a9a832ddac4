// SPDX-License-Identifier: Apache-2.0
// Launches of the reorder kernels: alone as reorders, and as parts of other primitives.
#pragma once

#include "primitive/sequence.hpp"
#include "reorder/problem.hpp"

namespace zemm::reorder {

// A plan of reorder/plan.hpp for a problem. Parameters come from the primitive's arguments of the same names.
launch reorder_launch(launch_plan plan, const operand &from, const operand &to, const problem &p);

// Copies a plain tensor (see copy_maker).
launch copy_launch(const memory_desc &from, const memory_desc &to, const operand &source,
                   const operand &destination, const ze::device &dev);

// densify.cl: turns the sparse tensor of an argument into the dense one.
launch densify_launch(const memory_desc &md, int arg, const operand &to);
// sparsify.cl: the first launch counts, the second one writes the sparse tensor of an argument. starts: a
// number for each row and, in the second launch, one more.
launch sparsify_launch(const memory_desc &md, bool counts, const operand &from, int arg,
                       const operand &starts);

} // namespace zemm::reorder
