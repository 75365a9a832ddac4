// SPDX-License-Identifier: Apache-2.0
// Memory descriptors from strides and tags: layouts, sizes, queries, equality, refusals.
#include <cstring>

#include "zemm_test.hpp"

namespace {

constexpr zemm_dim_t runtime = ZEMM_RUNTIME_DIM_VAL;
constexpr size_t runtime_size = ZEMM_RUNTIME_SIZE_VAL;

tensor strided(dims_of dims, zemm_data_type_t type, dims_of strides) {
    return made(zemm_memory_desc_create_with_strides, int(dims.size()), dims.begin(), type, strides.begin());
}

// A refusal, which does not write the output.
zemm_memory_desc_t untouched = nullptr;

zemm_status_t try_strided(dims_of dims, zemm_data_type_t type, dims_of strides) {
    return zemm_memory_desc_create_with_strides(&untouched, int(dims.size()), dims.begin(), type,
                                                strides.size() ? strides.begin() : nullptr);
}
zemm_status_t try_tagged(dims_of dims, zemm_data_type_t type, zemm_format_tag_t tag) {
    return zemm_memory_desc_create_with_tag(&untouched, int(dims.size()), dims.begin(), type, tag);
}
zemm_status_t try_tagged(dims_of dims, zemm_data_type_t type, const char *tag) {
    return zemm_memory_desc_create_with_string_tag(&untouched, int(dims.size()), dims.begin(), type, tag);
}

// The tag gives these strides, padded dims and size in bytes.
void check(const char *tag, dims_of dims, zemm_data_type_t type, dims_of strides, size_t size,
           dims_of padded = {}) {
    const auto md = tagged(dims, type, tag);
    CHECK(queried<int>(md, zemm_query_ndims_s32) == int(dims.size()));
    CHECK(is(md, zemm_query_dims, dims) && is(md, zemm_query_strides, strides));
    CHECK(is(md, zemm_query_padded_dims, padded.size() ? padded : dims));
    CHECK(zemm_memory_desc_get_size(md) == size);
}

} // namespace

TEST(layouts) {
    check("ab", {3, 5}, zemm_f32, {5, 1}, 60);
    check("ba", {3, 5}, zemm_s8, {1, 3}, 15);
    check("acb", {2, 3, 5}, zemm_f16, {15, 1, 3}, 60);
    check("cab", {2, 3, 5}, zemm_f64, {3, 1, 6}, 240);
    check("ab", {3, 6}, zemm_s4, {6, 1}, 9);
    check("ab", {3, 8}, zemm_u2, {8, 1}, 6);
    check("a", {5}, zemm_u2, {1}, 2); // rounded up
    check("a", {5}, zemm_u4, {1}, 3);
    // 100x200 in blocks of 64x64 (16 units of four along a, 64 along b) is padded to 128x256. A block has
    // 4096 elements. Blocks along a are innermost.
    check("BA16a16b4a4b", {100, 200}, zemm_u2, {4096, 2 * 4096}, 128 * 256 / 4, {128, 256});
    check("BA16a64b4a", {100, 200}, zemm_s8, {4096, 2 * 4096}, 128 * 256, {128, 256});
    check("AB16b16a", {100, 200}, zemm_f32, {13 * 256, 256}, 112 * 208 * 4, {112, 208});
    check("aCB16b16c2b", {2, 33, 17}, zemm_bf16, {2048, 512, 1024}, 2 * 64 * 32 * 2, {2, 64, 32});
    check("abcdefghijkl", {1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 1, 3}, zemm_s32,
          {6, 6, 6, 6, 6, 6, 6, 6, 6, 3, 3, 1}, 24);

    const auto md = tagged({100, 200}, zemm_s8, zemm_BA16a64b4a);
    CHECK(queried<int>(md, zemm_query_inner_nblks_s32) == 3);
    CHECK(is(md, zemm_query_inner_blks, {16, 64, 4}) && is(md, zemm_query_inner_idxs, {0, 1, 0}));
    CHECK(queried<int>(md, zemm_query_format_kind) == zemm_blocked);
    CHECK(queried<int>(md, zemm_query_data_type) == zemm_s8);
    CHECK(queried<int>(md, zemm_query_num_handles_s32) == 1);
    CHECK(is(md, zemm_query_padded_offsets, {0, 0}));
}

// Every tag of the enum means what its name says.
TEST(all_tags) {
    const zemm_dims_t dims = {2, 3, 4, 5, 6, 7, 1, 2, 1, 2, 1, 2};
    for (int tag = zemm_a; tag < zemm_format_tag_last; tag++) {
        const auto by_number = zemm_format_tag_t(tag);
        const char *name = zemm_fmt_tag2str(by_number);
        const int ndims = int(std::strcspn(name, "0123456789"));
        const auto md = made(zemm_memory_desc_create_with_tag, ndims, dims, zemm_f32, by_number),
                   by_name = made(zemm_memory_desc_create_with_string_tag, ndims, dims, zemm_f32, name);
        CHECK(zemm_memory_desc_equal(md, by_name) == 1);
        INVALID("ndims", zemm_memory_desc_create_with_tag(&untouched, ndims == 12 ? 11 : ndims + 1, dims,
                                                          zemm_f32, by_number));
    }
    for (const int tag : {-1, int(zemm_format_tag_last), 1000})
        INVALID("unknown", try_tagged({2, 3}, zemm_f32, zemm_format_tag_t(tag)));
    check("aBcd16b", {2, 17, 5, 3}, zemm_f32, {480, 240, 48, 16}, 2 * 32 * 5 * 3 * 4, {2, 32, 5, 3});
}

TEST(special) {
    const auto any = tagged({3, 5}, zemm_f32, zemm_format_tag_any),
               undef = tagged({3, 5}, zemm_f32, zemm_format_tag_undef),
               zero = dense({}, zemm_data_type_undef), open = tagged({3, runtime}, zemm_f32, zemm_ab),
               scalar = made(zemm_memory_desc_create_host_scalar, zemm_f16);
    CHECK(queried<int>(any, zemm_query_format_kind) == zemm_format_kind_any);
    CHECK(zemm_memory_desc_get_size(any) == 0);
    const zemm_dims_t *strides = nullptr;
    INVALID("any", zemm_memory_desc_query(any, zemm_query_strides, &strides));
    CHECK(!strides);
    CHECK(queried<int>(undef, zemm_query_ndims_s32) == 0 && zemm_memory_desc_get_size(undef) == 0);
    CHECK(queried<int>(zero, zemm_query_format_kind) == zemm_format_kind_undef);
    CHECK(zemm_memory_desc_get_size(dense({3, 0}, zemm_f32)) == 0);
    CHECK(zemm_memory_desc_get_size(open) == runtime_size && is(open, zemm_query_strides, {runtime, 1}));
    INVALID("runtime", try_tagged({3, runtime}, zemm_f32, zemm_format_tag_any));
    CHECK(queried<int>(scalar, zemm_query_format_kind) == zemm_format_kind_host_scalar);
    CHECK(zemm_memory_desc_get_size(scalar) == 2);
    INVALID("boolean", zemm_memory_desc_create_host_scalar(&untouched, zemm_boolean));
    OK(zemm_memory_desc_destroy(nullptr));
    const std::pair<zemm_data_type_t, size_t> sizes[] = {
        {zemm_s4, 1},   {zemm_u2, 1},   {zemm_f4_e2m1, 1}, {zemm_data_type_undef, 0},
        {zemm_bf16, 2}, {zemm_e8m0, 1}, {zemm_s64, 8}};
    for (const auto &[type, size] : sizes)
        CHECK(zemm_data_type_size(type) == size);
}

TEST(strides) {
    const struct {
        dims_of dims;
        zemm_data_type_t type;
        dims_of strides;
        size_t size;
    } rows[] = {{{3, 5}, zemm_f32, {8, 1}, 3 * 8 * 4},
                {{3, 5}, zemm_f32, {1, 3}, 60}, // column-major
                {{3, 5}, zemm_f32, {0, 1}, 20}, // three times the same row
                {{1, 5}, zemm_f32, {1, 1}, 20}, // the stride of a single row is not used
                {{3, 5}, zemm_f32, {runtime, 1}, runtime_size},
                {{0, 5}, zemm_f32, {1, 1}, 0}, // an empty tensor overlaps nothing
                {{3, 5}, zemm_u2, {8, 1}, 6},
                {{3, 5}, zemm_u4, {6, 1}, 9}};
    for (const auto &row : rows)
        CHECK(zemm_memory_desc_get_size(strided(row.dims, row.type, row.strides)) == row.size);
    CHECK(is(dense({2, runtime, 4}, zemm_f32), zemm_query_strides, {runtime, 4, 1}));
    INVALID("strides[0]=4 is smaller than the 5", try_strided({3, 5}, zemm_f32, {4, 1}));
    INVALID("strides[0]=9 is smaller than the 10", try_strided({3, 5}, zemm_f32, {9, 2}));
    INVALID("strides[1]=2", try_strided({3, 5}, zemm_f32, {1, 2}));
    INVALID("strides[1]=3", try_strided({2, 3, 4}, zemm_f32, {12, 3, 1}));
    INVALID("negative", try_strided({3, 5}, zemm_f32, {-5, 1}));
    // Rows begin at whole bytes.
    INVALID("strides[0]=6 is no multiple of 4, but 4 elements of the 2-bit type u2 share a byte",
            try_strided({3, 5}, zemm_u2, {6, 1}));
    INVALID("strides[0]=5 is no multiple of 2", try_strided({3, 5}, zemm_s4, {5, 1}));
    INVALID("share a byte", try_tagged({4, 6}, zemm_u2, zemm_ab));
    INVALID("share a byte", try_tagged({3, 5}, zemm_u4, zemm_ab));
    INVALID("share a byte", try_tagged({3, 5}, zemm_f4_e2m1, zemm_ba));
    tagged({1, 5}, zemm_u4, zemm_ab);
}

TEST(refused) {
    constexpr zemm_dim_t big = zemm_dim_t(1) << 40, huge = zemm_dim_t(1) << 62, many = zemm_dim_t(1) << 60;
    const auto before = untouched = reinterpret_cast<zemm_memory_desc_t>(&untouched);
    const zemm_dims_t dims = {3, 5};
    INVALID("ndims 13", try_tagged({1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, zemm_f32, zemm_ab));
    INVALID("ndims -1", zemm_memory_desc_create_with_strides(&untouched, -1, dims, zemm_f32, nullptr));
    INVALID("dims[1]=-1", try_tagged({3, -1}, zemm_f32, zemm_ab));
    INVALID("undef", try_tagged({3, 5}, zemm_data_type_undef, zemm_ab));
    INVALID("boolean", try_tagged({3, 5}, zemm_boolean, zemm_ab));
    INVALID("15", try_tagged({3, 5}, zemm_f4_e3m0, zemm_ab));
    INVALID("100", try_tagged({3, 5}, zemm_data_type_t(100), zemm_ab));
    INVALID("64 bits", try_tagged({big, big}, zemm_f32, zemm_ab));
    INVALID("64 bits", try_strided({huge, 4, 0}, zemm_f32, {}));
    INVALID("64 bits", try_strided({3, 5}, zemm_f32, {huge, 1}));
    INVALID("64 bits",
            try_strided({3, 5}, zemm_f32, {many, 1})); // the elements can be counted, not their bytes
    INVALID("64 bits", try_tagged({many - 1, 1}, zemm_s8, "AB16a16b"));
    for (const char *tag : {"", "abc", "aa", "ac", "aB", "ab16b", "AB16b", "AB16b16", "AB0a16b", "aB16b ",
                            "xa", "AB16b16A", "a b", "16ab", "AB16c16a16b", "AB99999999999a16b"})
        INVALID("tag", try_tagged({3, 5}, zemm_f32, tag));
    CHECK(untouched == before);
}

TEST(queries) {
    int value = -5;
    int64_t wide = -5;
    const auto md = dense({3, 5}, zemm_f32);
    CHECK(queried<int64_t>(md, zemm_query_submemory_offset_s64) == 0);
    INVALID("index", zemm_memory_desc_query_v2(md, zemm_query_dims, 1, &value));
    INVALID("data type", zemm_memory_desc_query_v2(md, zemm_query_data_type, 1, &value));
    INVALID("sparse", zemm_memory_desc_query(md, zemm_query_sparse_encoding, &value));
    INVALID("sparse", zemm_memory_desc_query(md, zemm_query_nnz_s64, &wide));
    UNIMPLEMENTED("query 1 ", zemm_memory_desc_query(md, zemm_query_engine, &value));
    UNIMPLEMENTED("query 0 ", zemm_memory_desc_query(md, zemm_query_undef, &value));
    CHECK(value == -5 && wide == -5);
    CHECK(zemm_memory_desc_get_size_v2(md, 1) == 0 && zemm_memory_desc_get_size(nullptr) == 0);
}

TEST(equality) {
    const auto a = strided({1, 5}, zemm_f32, {5, 1}), b = strided({1, 5}, zemm_f32, {99, 1});
    CHECK(zemm_memory_desc_equal(a, b) == 1); // the stride of a dimension of size 1 does not matter
    CHECK(zemm_memory_desc_equal(a, nullptr) == 0 && zemm_memory_desc_equal(nullptr, b) == 0);
    CHECK(zemm_memory_desc_equal(nullptr, nullptr) == 1);
    OK(zemm_memory_desc_set_data_type(b, zemm_s8));
    CHECK(zemm_memory_desc_equal(a, b) == 0 && zemm_memory_desc_get_size(b) == 5);
    INVALID("boolean", zemm_memory_desc_set_data_type(b, zemm_boolean));
    const auto copy = made(zemm_memory_desc_clone, a);
    CHECK(copy != a && zemm_memory_desc_equal(a, copy) == 1);
    const auto rows = tagged({3, 5}, zemm_f32, zemm_ab), columns = tagged({3, 5}, zemm_f32, zemm_ba);
    CHECK(zemm_memory_desc_equal(rows, columns) == 0);
    INVALID("share a byte", zemm_memory_desc_set_data_type(rows, zemm_s4)); // rows of 5
    CHECK(zemm_memory_desc_get_size(rows) == 60);
}
