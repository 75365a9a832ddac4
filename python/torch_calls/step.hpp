// SPDX-License-Identifier: Apache-2.0
// The operator zemm::step of compiled steps (zemm.transformers._step_operator): any of zemm's operators.
#pragma once

#include "tensors.hpp"

namespace zemm_torch {

// A row of the operator's table, which Python makes and keeps.
struct entry_t {
    enum : int64_t { other, linear, attention } kind;
    uint64_t layer; // its number, or that of attention; 0: not known yet
    int64_t in_features;
    int64_t layout[11]; // of attention: sizes of k but the last one, strides of k, strides of v
};

// python: a function of the table's address, the index and a list of inputs, which computes all there is.
void set_step_in_python(PyObject *python);

// y [sizes] of an entry, by Python if it has to. Returns 0, or 1: Python keeps the exception. Python's lock
// is not held.
int32_t step(const tensor_t *inputs, int64_t count, const entry_t *table, int64_t index, const int64_t *sizes,
             int64_t ndim, int32_t dtype, tensor_t *y);

} // namespace zemm_torch
