/* SPDX-License-Identifier: Apache-2.0 */
/* Matrices in host memory, filled with values whose sums are known well. */
#pragma once

#include "zemm/zemm.h"

struct tensor {
    zemm_data_type_t type;
    zemm_dim_t rows, columns;
    int transposed; /* elements of a column lie side by side, as tag ba says */
    void *data;     /* two elements of u4 share a byte, the even one in its low half */
};

/* Zeroed memory on a cache line's boundary. Ends the program if there is none. */
void *allocate(size_t bytes);
/* All elements are 0. */
struct tensor tensor_new(zemm_data_type_t type, zemm_dim_t rows, zemm_dim_t columns, int transposed);
/* Integers of the type's whole range; floating point: multiples of 1/64 between -2 and 2. */
void tensor_fill(struct tensor *t);
/* Powers of two, of f16 or f32, so small that results fit into f16. */
void tensor_fill_scales(struct tensor *t);
double tensor_get(const struct tensor *t, zemm_dim_t row, zemm_dim_t column);

/* A number of a repeatable sequence. */
zemm_dim_t random_below(uint32_t *state, zemm_dim_t limit);
