// SPDX-License-Identifier: Apache-2.0
// What kernels of several operators do with tensors.
#pragma once

#include "calls.hpp"
#include "objects.hpp"

namespace zemm_torch {

// Python's lock is held by these two. The first takes the tensor, if any.
owned_object python_tensor(owned_tensor);
owned_tensor tensor_of(PyObject *);

// A row-major tensor of these sizes on the host, with other columns. NULL: torch refuses.
owned_tensor empty(int64_t ndim, const int64_t *sizes, int64_t columns, int32_t dtype);

// layer(x), if x has bytes on the host and this thread knows the layer's call. dst_dtype: -1: that of x.
// is_locked: Python's lock is held, and is given up for the time.
owned_tensor compute(tensor_t x, request_t, int32_t dst_dtype, bool is_locked);

} // namespace zemm_torch
