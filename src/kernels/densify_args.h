// SPDX-License-Identifier: Apache-2.0
// What the host passes to densify.cl: see matmul_args.h.
#pragma once

#include "matmul_args.h"

#ifndef __OPENCL_C_VERSION__
namespace zemm::kernels {
#endif

struct densify_problem {
    arg_i64 rows, columns;
    arg_i64 count;  // values that are stored
    arg_i32 is_coo; // else CSR
    arg_i32 bits;   // of a value, 16 or 32
};

#ifndef __OPENCL_C_VERSION__
} // namespace zemm::kernels
#endif
