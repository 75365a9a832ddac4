/* SPDX-License-Identifier: Apache-2.0 */
/* Memory descriptors from strides and tags: layouts, sizes, queries, equality, refusals. */
#include "destroy.h"

#define RT ZEMM_RUNTIME_DIM_VAL

static zemm_memory_desc_t md;

static int same(const zemm_dim_t *a, const zemm_dim_t *b, int n) {
    return !memcmp(a, b, n * sizeof *a);
}

static const zemm_dim_t *array(zemm_query_t what) {
    const zemm_dims_t *values = NULL;
    OK(zemm_memory_desc_query(md, what, &values));
    return *values;
}

static int number(zemm_query_t what) {
    int value = -1;
    OK(zemm_memory_desc_query(md, what, &value));
    return value;
}

static void drop(void) {
    OK(zemm_memory_desc_destroy(md));
    md = NULL;
}

/* Checks that the string tag gives these strides, padded dims and size in bytes. */
static void tagged(const char *tag, int ndims, const zemm_dim_t *dims, zemm_data_type_t dt,
                   const zemm_dim_t *strides, const zemm_dim_t *padded, size_t size) {
    OK(zemm_memory_desc_create_with_string_tag(&md, ndims, dims, dt, tag));
    CHECK(number(zemm_query_ndims_s32) == ndims);
    CHECK(same(array(zemm_query_dims), dims, ndims));
    CHECK(same(array(zemm_query_strides), strides, ndims));
    CHECK(same(array(zemm_query_padded_dims), padded, ndims));
    CHECK(zemm_memory_desc_get_size(md) == size);
    drop();
}

static void layouts(void) {
    const zemm_dims_t d2 = {3, 5}, d3 = {2, 3, 5}, big = {100, 200}, even = {3, 6};
    tagged("ab", 2, d2, zemm_f32, (zemm_dims_t){5, 1}, d2, 60);
    tagged("ba", 2, d2, zemm_s8, (zemm_dims_t){1, 3}, d2, 15);
    tagged("acb", 3, d3, zemm_f16, (zemm_dims_t){15, 1, 3}, d3, 60);
    tagged("cab", 3, d3, zemm_f64, (zemm_dims_t){3, 1, 6}, d3, 240);
    tagged("ab", 2, even, zemm_s4, (zemm_dims_t){6, 1}, even, 9);
    tagged("ab", 2, (zemm_dims_t){3, 8}, zemm_u2, (zemm_dims_t){8, 1}, (zemm_dims_t){3, 8}, 6);
    tagged("a", 1, (zemm_dims_t){5}, zemm_u2, (zemm_dims_t){1}, (zemm_dims_t){5}, 2); /* rounded up */
    tagged("BA16a16b4a4b", 2, big, zemm_u2, (zemm_dims_t){4096, 2 * 4096}, (zemm_dims_t){128, 256},
           128 * 256 / 4);
    tagged("a", 1, (zemm_dims_t){5}, zemm_u4, (zemm_dims_t){1}, (zemm_dims_t){5}, 3); /* rounded up */
    /* 100x200 in blocks of 64x64 (16 units of four along a, 64 along b) is padded to 128x256. A
     * block has 4096 elements. Blocks along a are innermost. */
    tagged("BA16a64b4a", 2, big, zemm_s8, (zemm_dims_t){4096, 2 * 4096}, (zemm_dims_t){128, 256}, 128 * 256);
    tagged("AB16b16a", 2, big, zemm_f32, (zemm_dims_t){13 * 256, 256}, (zemm_dims_t){112, 208},
           112 * 208 * 4);
    tagged("aCB16b16c2b", 3, (zemm_dims_t){2, 33, 17}, zemm_bf16, (zemm_dims_t){2048, 512, 1024},
           (zemm_dims_t){2, 64, 32}, 2 * 64 * 32 * 2);
    tagged("abcdefghijkl", 12, (zemm_dims_t){1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 1, 3}, zemm_s32,
           (zemm_dims_t){6, 6, 6, 6, 6, 6, 6, 6, 6, 3, 3, 1},
           (zemm_dims_t){1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 1, 3}, 24);

    OK(zemm_memory_desc_create_with_tag(&md, 2, big, zemm_s8, zemm_BA16a64b4a));
    CHECK(number(zemm_query_inner_nblks_s32) == 3);
    CHECK(same(array(zemm_query_inner_blks), (zemm_dims_t){16, 64, 4}, 3));
    CHECK(same(array(zemm_query_inner_idxs), (zemm_dims_t){0, 1, 0}, 3));
    CHECK(number(zemm_query_format_kind) == zemm_blocked);
    CHECK(number(zemm_query_data_type) == zemm_s8);
    CHECK(number(zemm_query_num_handles_s32) == 1);
    CHECK(same(array(zemm_query_padded_offsets), (zemm_dims_t){0, 0}, 2));
    drop();
}

/* Every tag of the enum means what its name says. */
static void all_tags(void) {
    const zemm_dims_t dims = {2, 3, 4, 5, 6, 7, 1, 2, 1, 2, 1, 2};
    for (int tag = zemm_a; tag < zemm_format_tag_last; tag++) {
        const char *name = zemm_fmt_tag2str((zemm_format_tag_t)tag);
        int ndims = (int)strcspn(name, "0123456789");
        zemm_memory_desc_t by_name;
        OK(zemm_memory_desc_create_with_tag(&md, ndims, dims, zemm_f32, (zemm_format_tag_t)tag));
        OK(zemm_memory_desc_create_with_string_tag(&by_name, ndims, dims, zemm_f32, name));
        CHECK(zemm_memory_desc_equal(md, by_name) == 1);
        INVALID("ndims", zemm_memory_desc_create_with_tag(&by_name, ndims == 12 ? 11 : ndims + 1, dims,
                                                          zemm_f32, (zemm_format_tag_t)tag));
        OK(zemm_memory_desc_destroy(by_name));
        drop();
    }
    const int no_tags[] = {-1, zemm_format_tag_last, 1000};
    for (int i = 0; i < 3; i++)
        INVALID("unknown",
                zemm_memory_desc_create_with_tag(&md, 2, dims, zemm_f32, (zemm_format_tag_t)no_tags[i]));
    OK(zemm_memory_desc_create_with_tag(&md, 4, (zemm_dims_t){2, 17, 5, 3}, zemm_f32, zemm_nChw16c));
    CHECK(same(array(zemm_query_padded_dims), (zemm_dims_t){2, 32, 5, 3}, 4));
    CHECK(same(array(zemm_query_strides), (zemm_dims_t){480, 240, 48, 16}, 4));
    CHECK(zemm_memory_desc_get_size(md) == 2 * 32 * 5 * 3 * 4);
    drop();
}

static void special(void) {
    const zemm_dims_t dims = {3, 5}, runtime = {3, RT}, empty = {3, 0};
    OK(zemm_memory_desc_create_with_tag(&md, 2, dims, zemm_f32, zemm_format_tag_any));
    CHECK(number(zemm_query_format_kind) == zemm_format_kind_any);
    CHECK(zemm_memory_desc_get_size(md) == 0);
    const zemm_dims_t *strides = NULL;
    INVALID("any", zemm_memory_desc_query(md, zemm_query_strides, &strides));
    CHECK(strides == NULL);
    drop();
    OK(zemm_memory_desc_create_with_tag(&md, 2, dims, zemm_f32, zemm_format_tag_undef));
    CHECK(number(zemm_query_ndims_s32) == 0 && zemm_memory_desc_get_size(md) == 0);
    drop();
    OK(zemm_memory_desc_create_with_strides(&md, 0, NULL, zemm_data_type_undef, NULL));
    CHECK(number(zemm_query_format_kind) == zemm_format_kind_undef);
    drop();
    OK(zemm_memory_desc_create_with_tag(&md, 2, empty, zemm_f32, zemm_ab));
    CHECK(zemm_memory_desc_get_size(md) == 0);
    drop();
    OK(zemm_memory_desc_create_with_tag(&md, 2, runtime, zemm_f32, zemm_ab));
    CHECK(zemm_memory_desc_get_size(md) == ZEMM_RUNTIME_SIZE_VAL);
    CHECK(same(array(zemm_query_strides), (zemm_dims_t){RT, 1}, 2));
    drop();
    INVALID("runtime", zemm_memory_desc_create_with_tag(&md, 2, runtime, zemm_f32, zemm_format_tag_any));
    OK(zemm_memory_desc_create_host_scalar(&md, zemm_f16));
    CHECK(number(zemm_query_format_kind) == zemm_format_kind_host_scalar);
    CHECK(zemm_memory_desc_get_size(md) == 2);
    drop();
    INVALID("boolean", zemm_memory_desc_create_host_scalar(&md, zemm_boolean));
    OK(zemm_memory_desc_destroy(NULL));
    CHECK(zemm_data_type_size(zemm_s4) == 1 && zemm_data_type_size(zemm_u2) == 1 &&
          zemm_data_type_size(zemm_f4_e2m1) == 1);
    CHECK(zemm_data_type_size(zemm_data_type_undef) == 0 && zemm_data_type_size(zemm_bf16) == 2);
    CHECK(zemm_data_type_size(zemm_e8m0) == 1 && zemm_data_type_size(zemm_s64) == 8);
}

#define STRIDED(ndims, dims, dt, ...)                                                                        \
    zemm_memory_desc_create_with_strides(&md, ndims, dims, dt, (zemm_dims_t){__VA_ARGS__})

static void strides(void) {
    const zemm_dims_t d2 = {3, 5}, one = {1, 5}, d3 = {2, 3, 4};
    OK(STRIDED(2, d2, zemm_f32, 8, 1));
    CHECK(zemm_memory_desc_get_size(md) == 3 * 8 * 4);
    drop();
    OK(STRIDED(2, d2, zemm_f32, 1, 3)); /* column-major */
    CHECK(zemm_memory_desc_get_size(md) == 60);
    drop();
    OK(STRIDED(2, d2, zemm_f32, 0, 1)); /* three times the same row */
    CHECK(zemm_memory_desc_get_size(md) == 20);
    drop();
    OK(STRIDED(2, one, zemm_f32, 1, 1)); /* the stride of a single row is not used */
    CHECK(zemm_memory_desc_get_size(md) == 20);
    drop();
    OK(STRIDED(2, d2, zemm_f32, RT, 1));
    CHECK(zemm_memory_desc_get_size(md) == ZEMM_RUNTIME_SIZE_VAL);
    drop();
    OK(STRIDED(2, ((zemm_dims_t){0, 5}), zemm_f32, 1, 1)); /* an empty tensor overlaps nothing */
    drop();
    OK(zemm_memory_desc_create_with_strides(&md, 3, (zemm_dims_t){2, RT, 4}, zemm_f32, NULL));
    CHECK(same(array(zemm_query_strides), (zemm_dims_t){RT, 4, 1}, 3));
    drop();
    INVALID("strides[0]=4 is smaller than the 5", STRIDED(2, d2, zemm_f32, 4, 1));
    INVALID("strides[0]=9 is smaller than the 10", STRIDED(2, d2, zemm_f32, 9, 2));
    INVALID("strides[1]=2", STRIDED(2, d2, zemm_f32, 1, 2));
    INVALID("strides[1]=3", STRIDED(3, d3, zemm_f32, 12, 3, 1));
    INVALID("negative", STRIDED(2, d2, zemm_f32, -5, 1));
    /* Rows begin at whole bytes. */
    INVALID("strides[0]=6 is no multiple of 4, but 4 elements of the 2-bit type u2 share a byte",
            STRIDED(2, d2, zemm_u2, 6, 1));
    INVALID("share a byte",
            zemm_memory_desc_create_with_tag(&md, 2, ((zemm_dims_t){4, 6}), zemm_u2, zemm_ab));
    OK(STRIDED(2, d2, zemm_u2, 8, 1));
    CHECK(zemm_memory_desc_get_size(md) == 6);
    drop();
    INVALID("strides[0]=5 is no multiple of 2", STRIDED(2, d2, zemm_s4, 5, 1));
    INVALID("share a byte", zemm_memory_desc_create_with_tag(&md, 2, d2, zemm_u4, zemm_ab));
    INVALID("share a byte", zemm_memory_desc_create_with_tag(&md, 2, d2, zemm_f4_e2m1, zemm_ba));
    OK(STRIDED(2, d2, zemm_u4, 6, 1));
    CHECK(zemm_memory_desc_get_size(md) == 9);
    drop();
    OK(zemm_memory_desc_create_with_tag(&md, 2, one, zemm_u4, zemm_ab));
    drop();
}

static void refused(void) {
    const zemm_dims_t dims = {3, 5}, negative = {3, -1};
    const zemm_dims_t many = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    const zemm_dims_t huge = {INT64_C(1) << 40, INT64_C(1) << 40}, empty_huge = {INT64_C(1) << 62, 4, 0};
    zemm_memory_desc_t untouched = (zemm_memory_desc_t)&md;
    INVALID("ndims 13", zemm_memory_desc_create_with_tag(&untouched, 13, many, zemm_f32, zemm_ab));
    INVALID("ndims -1", zemm_memory_desc_create_with_strides(&untouched, -1, dims, zemm_f32, NULL));
    INVALID("dims[1]=-1", zemm_memory_desc_create_with_tag(&untouched, 2, negative, zemm_f32, zemm_ab));
    INVALID("undef", zemm_memory_desc_create_with_tag(&untouched, 2, dims, zemm_data_type_undef, zemm_ab));
    INVALID("boolean", zemm_memory_desc_create_with_tag(&untouched, 2, dims, zemm_boolean, zemm_ab));
    INVALID("15", zemm_memory_desc_create_with_tag(&untouched, 2, dims, zemm_f4_e3m0, zemm_ab));
    INVALID("100", zemm_memory_desc_create_with_tag(&untouched, 2, dims, (zemm_data_type_t)100, zemm_ab));
    INVALID("64 bits", zemm_memory_desc_create_with_tag(&untouched, 2, huge, zemm_f32, zemm_ab));
    INVALID("64 bits", zemm_memory_desc_create_with_strides(&untouched, 3, empty_huge, zemm_f32, NULL));
    INVALID("64 bits", zemm_memory_desc_create_with_strides(&untouched, 2, dims, zemm_f32,
                                                            (zemm_dims_t){INT64_C(1) << 62, 1}));
    /* 3 << 60 elements can be counted, but not their bytes. */
    INVALID("64 bits", zemm_memory_desc_create_with_strides(&untouched, 2, dims, zemm_f32,
                                                            (zemm_dims_t){INT64_C(1) << 60, 1}));
    INVALID("64 bits", zemm_memory_desc_create_with_string_tag(
                           &untouched, 2, (zemm_dims_t){(INT64_C(1) << 60) - 1, 1}, zemm_s8, "AB16a16b"));
    CHECK(untouched == (zemm_memory_desc_t)&md); /* a failure does not write the output */
    static const char *const bad[] = {
        "",        "abc",    "aa", "ac",       "aB",  "ab16b", "AB16b",       "AB16b16",
        "AB0a16b", "aB16b ", "xa", "AB16b16A", "a b", "16ab",  "AB16c16a16b", "AB99999999999a16b"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        INVALID("tag", zemm_memory_desc_create_with_string_tag(&untouched, 2, dims, zemm_f32, bad[i]));
}

static void queries(void) {
    int value = -5;
    int64_t wide = -5;
    OK(zemm_memory_desc_create_with_tag(&md, 2, (zemm_dims_t){3, 5}, zemm_f32, zemm_ab));
    OK(zemm_memory_desc_query(md, zemm_query_submemory_offset_s64, &wide));
    CHECK(wide == 0);
    INVALID("index", zemm_memory_desc_query_v2(md, zemm_query_dims, 1, &value));
    INVALID("data type", zemm_memory_desc_query_v2(md, zemm_query_data_type, 1, &value));
    INVALID("sparse", zemm_memory_desc_query(md, zemm_query_sparse_encoding, &value));
    INVALID("sparse", zemm_memory_desc_query(md, zemm_query_nnz_s64, &wide));
    UNIMPLEMENTED("query 1 ", zemm_memory_desc_query(md, zemm_query_engine, &value));
    UNIMPLEMENTED("query 0 ", zemm_memory_desc_query(md, zemm_query_undef, &value));
    CHECK(value == -5 && wide == 0);
    CHECK(zemm_memory_desc_get_size_v2(md, 1) == 0 && zemm_memory_desc_get_size(NULL) == 0);
    drop();
}

static void equality(void) {
    zemm_memory_desc_t a, b;
    OK(zemm_memory_desc_create_with_strides(&a, 2, (zemm_dims_t){1, 5}, zemm_f32, (zemm_dims_t){5, 1}));
    OK(zemm_memory_desc_create_with_strides(&b, 2, (zemm_dims_t){1, 5}, zemm_f32, (zemm_dims_t){99, 1}));
    CHECK(zemm_memory_desc_equal(a, b) == 1); /* the stride of a dimension of size 1 does not matter */
    CHECK(zemm_memory_desc_equal(a, NULL) == 0 && zemm_memory_desc_equal(NULL, b) == 0);
    CHECK(zemm_memory_desc_equal(NULL, NULL) == 1);
    OK(zemm_memory_desc_set_data_type(b, zemm_s8));
    CHECK(zemm_memory_desc_equal(a, b) == 0 && zemm_memory_desc_get_size(b) == 5);
    INVALID("boolean", zemm_memory_desc_set_data_type(b, zemm_boolean));
    OK(zemm_memory_desc_destroy(b));
    OK(zemm_memory_desc_clone(&b, a));
    CHECK(b != a && zemm_memory_desc_equal(a, b) == 1);
    DESTROY(b, a);
    OK(zemm_memory_desc_create_with_tag(&a, 2, (zemm_dims_t){3, 5}, zemm_f32, zemm_ab));
    OK(zemm_memory_desc_create_with_tag(&b, 2, (zemm_dims_t){3, 5}, zemm_f32, zemm_ba));
    CHECK(zemm_memory_desc_equal(a, b) == 0);
    INVALID("share a byte", zemm_memory_desc_set_data_type(a, zemm_s4)); /* rows of 5 */
    CHECK(zemm_memory_desc_get_size(a) == 60);
    DESTROY(a, b);
}

int main(void) {
    layouts();
    all_tags();
    special();
    strides();
    refused();
    queries();
    equality();
    return 0;
}
