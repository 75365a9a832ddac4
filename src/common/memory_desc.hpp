// SPDX-License-Identifier: Apache-2.0
// The memory descriptor: shape, type and layout of a tensor. Plain data, so that it copies, compares and
// travels as a blob of bytes.
#pragma once

#include <string>

#include "common/data_type.hpp"
#include "zemm/zemm_types.h"

struct zemm_memory_desc {
    int ndims = 0;
    zemm_data_type_t data_type = zemm_data_type_undef;
    zemm_format_kind_t format_kind = zemm_format_kind_undef;
    zemm_dims_t dims = {};
    zemm_dims_t padded_dims = {};    // dims rounded up to the inner blocks; see md_submemory
    zemm_dims_t padded_offsets = {}; // always 0
    zemm_dim_t offset0 = 0;          // elements before the first one (submemory)
    // blocked: strides of the outer blocks in elements, and inner blocks from outer to inner
    zemm_dims_t strides = {};
    int inner_nblks = 0;
    zemm_dims_t inner_blks = {};
    zemm_dims_t inner_idxs = {};
    // sparse
    zemm_sparse_encoding_t encoding = zemm_sparse_encoding_undef;
    zemm_dim_t nnz = 0;
    zemm_data_type_t metadata_types[2] = {zemm_data_type_undef, zemm_data_type_undef};
    int variable_dim = 0;       // grouped
    zemm_dim_t group_count = 0; // grouped
};

namespace zemm {

using memory_desc = ::zemm_memory_desc;

// Builders behind the C functions of the same name; they throw invalid_arguments / unimplemented.
memory_desc md_with_strides(int ndims, const zemm_dim_t *dims, zemm_data_type_t dt,
                            const zemm_dim_t *strides);
memory_desc md_with_tag(int ndims, const zemm_dim_t *dims, zemm_data_type_t dt, zemm_format_tag_t tag);
memory_desc md_with_string_tag(int ndims, const zemm_dim_t *dims, zemm_data_type_t dt, const char *tag);
memory_desc md_host_scalar(zemm_data_type_t dt);

bool md_is_zero(const memory_desc &md);     // no dimensions: "not there"
bool md_has_runtime(const memory_desc &md); // a runtime dimension, stride or offset
bool md_is_plain(const memory_desc &md);    // blocked with no inner blocks
bool md_equal(const memory_desc &a, const memory_desc &b);
// Elements from one index of a dimension to the next, so that any coordinate of a larger tensor fits: 0 along
// a dimension of 1.
zemm_dim_t broadcast_stride(const memory_desc &md, int d);
zemm_dim_t md_nelems(const memory_desc &md);          // product of dims (0 for a zero descriptor)
size_t md_size(const memory_desc &md, int index = 0); // bytes; see zemm_memory_desc_get_size_v2
int md_num_handles(const memory_desc &md);
// Resolves format any to dense row-major (others unchanged).
void md_resolve_any(memory_desc &md);
std::string dims_text(const memory_desc &md); // "2x3x4"; runtime dimensions as *
std::string dims_text(int ndims, const zemm_dim_t *dims);
std::string tag_text(const memory_desc &md); // "abc", "acb", "aCB16b16c", "any"; "*" when not expressible
// The verbose log's form: "src:f32:a:blocked:ab::f0".
// user_any: the user asked for format any, md is what it became.
std::string md_text(const char *name, const memory_desc &md, bool user_any = false);
// "20x1" for a blocked layout with gaps, else "".
std::string strides_text(const memory_desc &md);

} // namespace zemm
