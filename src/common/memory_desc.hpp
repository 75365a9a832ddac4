// SPDX-License-Identifier: Apache-2.0
// The memory descriptor: shape, data type and layout of a tensor. It is plain data, so that it can
// be copied, compared and saved as a blob.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "common/data_type.hpp"
#include "zemm/zemm_types.h"

struct zemm_memory_desc {
    // The members up to inner_idxs, and extra, lie where oneDNN 3.14 has them: some of its test
    // programs use its private struct.
    int ndims = 0;
    zemm_dims_t dims = {};
    zemm_data_type_t data_type = zemm_data_type_undef;
    zemm_dims_t padded_dims = {};    // dims rounded up to whole inner blocks; see md_submemory
    zemm_dims_t padded_offsets = {}; // always 0
    zemm_dim_t offset0 = 0;          // elements before the first one, in a submemory
    zemm_format_kind_t format_kind = zemm_format_kind_undef;
    // Blocked: the strides of the outer blocks in elements, and the inner blocks from the outermost
    // to the innermost. Packed: the layout in which the tensor would lie with its zeros; no inner blocks
    // in a descriptor of the caller, as a matmul chooses them.
    zemm_dims_t strides = {};
    int inner_nblks = 0;
    zemm_dims_t inner_blks = {};
    zemm_dims_t inner_idxs = {};
    // Sparse.
    zemm_sparse_encoding_t encoding = zemm_sparse_encoding_undef;
    zemm_dim_t nnz = 0; // the number of elements that are stored
    // The types of indices and pointers (CSR), of indices (COO), or of offsets (grouped).
    zemm_data_type_t metadata_types[2] = {zemm_data_type_undef, zemm_data_type_undef};
    // Where oneDNN keeps what an element needs besides its value, such as compensations; the first
    // word has the flags. Its test programs write here: to the first 16 words, or, if they were built
    // with grouped memory, to the last 16. No function of zemm does.
    uint64_t extra[30] = {};
    uint64_t extra_flags() const { return extra[0] | extra[14]; }
    int variable_dim = 0;       // grouped: the dimension along which groups differ in size
    zemm_dim_t group_count = 0; // grouped
};
static_assert(offsetof(zemm_memory_desc, padded_dims) == 112 && offsetof(zemm_memory_desc, strides) == 320 &&
              offsetof(zemm_memory_desc, inner_blks) == 424 &&
              offsetof(zemm_memory_desc, inner_idxs) == 520 && offsetof(zemm_memory_desc, extra) == 640 &&
              offsetof(zemm_memory_desc, variable_dim) == 880);

namespace zemm {

using memory_desc = ::zemm_memory_desc;

constexpr zemm_dim_t runtime_dim = ZEMM_RUNTIME_DIM_VAL;

// The work behind the C functions that create descriptors. They throw invalid_arguments or
// unimplemented.
memory_desc md_with_strides(int ndims, const zemm_dim_t *dims, zemm_data_type_t dt,
                            const zemm_dim_t *strides);
memory_desc md_with_tag(int ndims, const zemm_dim_t *dims, zemm_data_type_t dt, zemm_format_tag_t tag);
memory_desc md_with_string_tag(int ndims, const zemm_dim_t *dims, zemm_data_type_t dt, const char *tag);
memory_desc md_host_scalar(zemm_data_type_t dt);
// The dims of md in row-major order without blocks, of data type dt. Each row begins at a whole byte: rows
// that end inside one have gaps.
memory_desc md_row_major(const memory_desc &md, zemm_data_type_t dt);

bool md_is_zero(const memory_desc &md);     // no dimensions: stands for a tensor that is not there
bool md_has_runtime(const memory_desc &md); // a runtime dimension, stride, offset or nnz
bool md_is_plain(const memory_desc &md);    // blocked, without inner blocks
// Whether all rows along dimension `along` of a plain tensor begin at a multiple of unit elements.
bool md_rows_begin_at(const memory_desc &md, int along, zemm_dim_t unit);
// A dimension along which stride 0 puts several elements in one place; -1 if there is none.
int md_shared_dim(const memory_desc &md);
bool md_is_sparse(const memory_desc &md);
bool md_is_grouped(const memory_desc &md);
// Whether a packed descriptor has a layout, which memories need.
bool md_has_packed_layout(const memory_desc &md);
// The blocked descriptor of a packed tensor that has its zeros.
memory_desc md_unpacked(const memory_desc &md);
bool md_equal(const memory_desc &a, const memory_desc &b);
// Whether both descriptors have the same elements at the same places of a buffer, so that a tensor of one is
// a tensor of the other: equal descriptors, apart from dimensions of 1, and reshaped or permuted ones. To
// find these, the dimensions are ordered by their strides, and neighbours that are dense are joined; the
// resulting lists of dims and strides, and the offsets, must be equal. Blocked dimensions are not joined:
// their blocks must be equal, too. Descriptors whose dims are equal but whose strides are not have different
// layouts (`ab` and `ba` of a square matrix): their elements are at the places of other elements.
bool md_same_places(const memory_desc &a, const memory_desc &b);
// Whether tensors in two buffers share a bit. part: the buffer of an encoding, else 0. Tensors with gaps may
// lie in each other's; blocks and encodings fill their buffers. Where strides make the answer long, it is
// yes.
bool md_overlap(const memory_desc &a, int part_of_a, const void *at_a, const memory_desc &b, int part_of_b,
                const void *at_b);
// The stride of dimension d, or 0 if the dimension is 1: coordinates of a larger tensor then
// broadcast.
zemm_dim_t broadcast_stride(const memory_desc &md, int d);
zemm_dim_t md_nelems(const memory_desc &md);          // product of dims (0 for a zero descriptor)
size_t md_size(const memory_desc &md, int index = 0); // bytes; see zemm_memory_desc_get_size_v2
int md_num_handles(const memory_desc &md);
// Replaces format any by the dense row-major layout; other formats stay.
void md_resolve_any(memory_desc &md);
std::string dims_text(const memory_desc &md); // "2x3x4"; runtime dimensions as *
std::string dims_text(int ndims, const zemm_dim_t *dims);
// The format tag, such as "abc", "acb", "aCB16b16c" or "any"; "*" for a format without tags.
std::string tag_text(const memory_desc &md);
// The descriptor as in the verbose log: "src:f32:a:blocked:ab::f0". user_any: the caller asked for
// format any, and md is what it was resolved to.
std::string md_text(const char *name, const memory_desc &md, bool user_any = false);
// The fields that md_equal() compares, as text for a sentence: "s8 2x3:ab, strides 3x1", with the offset if
// it is not 0.
std::string md_sentence(const memory_desc &md);
// The strides, as "20x1", of a blocked layout that is not dense; "" for any other layout.
std::string strides_text(const memory_desc &md);

// of: the elements of a block along each dimension, 1 if it is not blocked. total: their product.
struct blocks {
    zemm_dims_t of;
    zemm_dim_t total;
};
blocks md_blocks(const memory_desc &md);
// The number of blocks along dimension d. Rounded up, because a submemory may end inside a block.
zemm_dim_t block_count(const memory_desc &md, const blocks &b, int d);

// Descriptors with runtime dimensions, strides or offsets: values that are known at execution only.

// Whether actual, which has no runtime values, is one of the tensors that asked describes: equal to
// it wherever asked is known. Data types and offsets are not compared.
bool md_fits(const memory_desc &actual, const memory_desc &asked);

// A dense descriptor in the order of asked's dimensions, with these dims.
memory_desc md_with_dims(const memory_desc &asked, const zemm_dim_t *dims);

// The product; a runtime value if a factor is one.
zemm_dim_t runtime_product(zemm_dim_t a, zemm_dim_t b);

// A bit for each runtime dimension.
int runtime_dims_mask(const memory_desc &md);

} // namespace zemm
