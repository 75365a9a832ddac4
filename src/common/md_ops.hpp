// SPDX-License-Identifier: Apache-2.0
// The work behind the C functions that make sparse descriptors and descriptors from other
// descriptors, answer queries, and read and write blobs.
#pragma once

#include <cstdint>
#include <vector>

#include "common/memory_desc.hpp"

namespace zemm {

memory_desc md_csr(int ndims, const zemm_dim_t *dims, zemm_data_type_t dt, zemm_dim_t nnz,
                   zemm_data_type_t indices_dt, zemm_data_type_t pointers_dt);
memory_desc md_coo(int ndims, const zemm_dim_t *dims, zemm_data_type_t dt, zemm_dim_t nnz,
                   zemm_data_type_t indices_dt);
memory_desc md_packed(int ndims, const zemm_dim_t *dims, zemm_data_type_t dt, zemm_dim_t nnz);
memory_desc md_grouped(int ndims, const zemm_dim_t *dims, zemm_data_type_t dt, int variable_dim,
                       zemm_dim_t group_count, zemm_data_type_t offsets_dt);

memory_desc md_submemory(const memory_desc &parent, const zemm_dim_t *dims, const zemm_dim_t *offsets);
memory_desc md_reshape(const memory_desc &in, int ndims, const zemm_dim_t *dims);
memory_desc md_permute_axes(const memory_desc &in, const int *permutation);
memory_desc md_with_data_type(const memory_desc &in, zemm_data_type_t dt);

// Writes the answer of a query to *result. An array is answered with a pointer into md.
void md_query(const memory_desc &md, zemm_query_t what, int index, void *result);

// All fields as bytes. Descriptors with equal bytes are equal.
std::vector<uint8_t> md_save(const memory_desc &md);
size_t md_blob_size();
// Throws invalid_arguments if the blob is not one that md_save() writes for a valid descriptor.
memory_desc md_load(const uint8_t *blob);

} // namespace zemm
