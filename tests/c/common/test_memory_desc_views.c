/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors made from other descriptors (submemory, reshape, permute_axes, blob), and sparse
 * encodings. */
#include "refusals.h"

#define RT ZEMM_RUNTIME_DIM_VAL

typedef zemm_dims_t dims_t;

static zemm_memory_desc_t in, out;

static const zemm_dim_t *array(zemm_query_t what) {
    const zemm_dims_t *values = NULL;
    OK(zemm_memory_desc_query(out, what, &values));
    return *values;
}

static int is(zemm_query_t what, int n, const zemm_dim_t *expected) {
    return !memcmp(array(what), expected, n * sizeof *expected);
}

static void tagged(const char *tag, int ndims, const zemm_dim_t *dims, zemm_data_type_t dt) {
    if (in)
        OK(zemm_memory_desc_destroy(in));
    OK(zemm_memory_desc_create_with_string_tag(&in, ndims, dims, dt, tag));
}

static void drop(void) {
    OK(zemm_memory_desc_destroy(out));
    out = NULL;
}

static void submemory(void) {
    int64_t offset = -1;
    tagged("ab", 2, (dims_t){6, 10}, zemm_f32);
    OK(zemm_memory_desc_create_submemory(&out, in, (dims_t){2, 3}, (dims_t){1, 4}));
    OK(zemm_memory_desc_query(out, zemm_query_submemory_offset_s64, &offset));
    CHECK(offset == 14);
    CHECK(is(zemm_query_strides, 2, (dims_t){10, 1}) && is(zemm_query_dims, 2, (dims_t){2, 3}));
    CHECK(is(zemm_query_padded_dims, 2, (dims_t){2, 3}));
    CHECK(zemm_memory_desc_get_size(out) == (14 + 10 + 3) * 4); /* up to the last element */
    CHECK(!zemm_memory_desc_equal(in, out));
    zemm_memory_desc_t part = out, nested;
    OK(zemm_memory_desc_create_submemory(&nested, part, (dims_t){1, 1},
                                         (dims_t){1, 2})); /* a part of a part */
    out = nested;
    OK(zemm_memory_desc_query(out, zemm_query_submemory_offset_s64, &offset));
    CHECK(offset == 26);
    drop();
    out = part;
    drop();
    INVALID("dims[0]", zemm_memory_desc_create_submemory(&out, in, (dims_t){6, 1}, (dims_t){1, 0}));
    INVALID("dims[1]", zemm_memory_desc_create_submemory(&out, in, (dims_t){1, 1}, (dims_t){0, -1}));
    INVALID("dims[1]", zemm_memory_desc_create_submemory(&out, in, (dims_t){1, -1}, (dims_t){0, 0}));
    UNIMPLEMENTED("runtime", zemm_memory_desc_create_submemory(&out, in, (dims_t){1, RT}, (dims_t){0, 0}));
    tagged("any", 2, (dims_t){6, 10}, zemm_f32);
    UNIMPLEMENTED("any", zemm_memory_desc_create_submemory(&out, in, (dims_t){1, 1}, (dims_t){0, 0}));
    tagged("ab", 2, (dims_t){RT, 10}, zemm_f32);
    UNIMPLEMENTED("runtime", zemm_memory_desc_create_submemory(&out, in, (dims_t){1, 1}, (dims_t){0, 0}));

    tagged("AB16b16a", 2, (dims_t){40, 64}, zemm_f32); /* 48x64, blocks of 256, strides 1024 and 256 */
    OK(zemm_memory_desc_create_submemory(&out, in, (dims_t){24, 32}, (dims_t){16, 32}));
    OK(zemm_memory_desc_query(out, zemm_query_submemory_offset_s64, &offset));
    CHECK(offset == 1024 + 2 * 256);
    CHECK(is(zemm_query_padded_dims, 2, (dims_t){32, 32}));
    CHECK(zemm_memory_desc_get_size(out) == zemm_memory_desc_get_size(in));
    drop();
    /* A part of a block: the rest of the block is not padding, but belongs to its neighbours. */
    OK(zemm_memory_desc_create_submemory(&out, in, (dims_t){3, 32}, (dims_t){16, 16}));
    CHECK(is(zemm_query_padded_dims, 2, (dims_t){3, 32}));
    CHECK(zemm_memory_desc_get_size(out) == (1024 + 3 * 256) * 4); /* whole blocks */
    zemm_memory_desc_t copy, of_part;
    uint8_t blob[4096];
    size_t size = sizeof blob;
    OK(zemm_memory_desc_get_blob(blob, &size, out));
    OK(zemm_memory_desc_create_with_blob(&copy, blob));
    CHECK(zemm_memory_desc_equal(copy, out));
    OK(zemm_memory_desc_create_submemory(&of_part, copy, (dims_t){3, 16}, (dims_t){0, 16}));
    OK(zemm_memory_desc_destroy(copy));
    drop();
    out = of_part;
    CHECK(is(zemm_query_padded_dims, 2, (dims_t){3, 16}));
    drop();
    UNIMPLEMENTED("cuts", zemm_memory_desc_create_submemory(&out, in, (dims_t){16, 16}, (dims_t){8, 0}));
    UNIMPLEMENTED("cuts", zemm_memory_desc_create_submemory(&out, in, (dims_t){20, 16}, (dims_t){0, 0}));
}

static void reshaped(int ndims, const zemm_dim_t *dims, const zemm_dim_t *strides) {
    OK(zemm_memory_desc_reshape(&out, in, ndims, dims));
    CHECK(is(zemm_query_dims, ndims, dims) && is(zemm_query_strides, ndims, strides));
    CHECK(zemm_memory_desc_get_size(in) == zemm_memory_desc_get_size(out));
    drop();
}

static void reshape(void) {
    tagged("abc", 3, (dims_t){2, 3, 4}, zemm_f32);
    reshaped(2, (dims_t){6, 4}, (dims_t){4, 1});
    reshaped(1, (dims_t){24}, (dims_t){1});
    reshaped(2, (dims_t){2, 12}, (dims_t){12, 1});
    reshaped(4, (dims_t){2, 3, 2, 2}, (dims_t){12, 4, 2, 1});
    reshaped(5, (dims_t){1, 2, 1, 3, 4}, (dims_t){24, 12, 12, 4, 1});
    reshaped(2, (dims_t){4, 6}, (dims_t){6, 1}); /* the common volume of 24 merges and splits again */
    INVALID("elements", zemm_memory_desc_reshape(&out, in, 2, (dims_t){5, 5}));
    INVALID("elements", zemm_memory_desc_reshape(&out, in, 2, (dims_t){24, RT}));
    INVALID("dims", zemm_memory_desc_reshape(&out, in, 0, NULL));
    INVALID("ndims 13", zemm_memory_desc_reshape(&out, in, 13, (dims_t){24}));
    tagged("acb", 3, (dims_t){2, 3, 4}, zemm_f32);
    reshaped(4, (dims_t){2, 1, 3, 4}, (dims_t){12, 3, 1, 3}); /* size 1: the inner extent */
    INVALID("dense", zemm_memory_desc_reshape(&out, in, 2, (dims_t){2, 12}));
    INVALID("dense", zemm_memory_desc_reshape(&out, in, 2, (dims_t){6, 4}));
    reshaped(4, (dims_t){2, 3, 2, 2}, (dims_t){12, 1, 6, 3}); /* any single dimension splits */
    tagged("aCB16b16c", 3, (dims_t){2, 20, 30}, zemm_f32);
    OK(zemm_memory_desc_reshape(&out, in, 4, (dims_t){1, 2, 20, 30}));
    CHECK(is(zemm_query_inner_idxs, 2, (dims_t){2, 3}) &&
          is(zemm_query_padded_dims, 4, (dims_t){1, 2, 32, 32}));
    drop();
    INVALID("dense", zemm_memory_desc_reshape(&out, in, 2, (dims_t){2, 600}));
    INVALID("dense", zemm_memory_desc_reshape(&out, in, 2, (dims_t){40, 30}));
    /* Empty tensors follow the same rules. */
    tagged("cdba", 4, (dims_t){2, 3, 0, 2}, zemm_f32);
    INVALID("dense", zemm_memory_desc_reshape(&out, in, 3, (dims_t){6, 0, 2}));
    tagged("cdab", 4, (dims_t){2, 3, 0, 2}, zemm_f32);
    reshaped(3, (dims_t){6, 0, 2}, (dims_t){1, 12, 6});
    INVALID("dense", zemm_memory_desc_reshape(&out, in, 3, (dims_t){0, 12, 2}));
    INVALID("dense", zemm_memory_desc_reshape(&out, in, 1, (dims_t){0}));
    tagged("Abcd16a", 4, (dims_t){31, 1, 0, 2}, zemm_f32);
    OK(zemm_memory_desc_reshape(&out, in, 5, (dims_t){1, 31, 0, 2, 1}));
    CHECK(is(zemm_query_inner_idxs, 1, (dims_t){1}) &&
          is(zemm_query_padded_dims, 5, (dims_t){1, 32, 0, 2, 1}));
    drop();
    /* A dimension of 1 that has padding stays. */
    tagged("aBc8b", 3, (dims_t){2, 1, 3}, zemm_f32);
    INVALID("dense", zemm_memory_desc_reshape(&out, in, 2, (dims_t){2, 3}));
    OK(zemm_memory_desc_reshape(&out, in, 4, (dims_t){2, 1, 3, 1}));
    CHECK(is(zemm_query_padded_dims, 4, (dims_t){2, 8, 3, 1}) && is(zemm_query_inner_idxs, 1, (dims_t){1}));
    drop();
    tagged("any", 2, (dims_t){4, 6}, zemm_f32);
    OK(zemm_memory_desc_reshape(&out, in, 1, (dims_t){24}));
    CHECK(is(zemm_query_dims, 1, (dims_t){24}));
    drop();
    tagged("ab", 2, (dims_t){RT, 6}, zemm_f32);
    INVALID("cannot", zemm_memory_desc_reshape(&out, in, 1, (dims_t){24}));
    tagged("ab", 2, (dims_t){2, 6}, zemm_s4);
    INVALID("share a byte", zemm_memory_desc_reshape(&out, in, 2, (dims_t){4, 3}));
    tagged("undef", 2, (dims_t){2, 6}, zemm_f32);
    INVALID("without dims", zemm_memory_desc_reshape(&out, in, 1, (dims_t){1}));
}

static void permute(void) {
    tagged("abc", 3, (dims_t){2, 3, 4}, zemm_f32);
    OK(zemm_memory_desc_permute_axes(&out, in, (int[]){1, 2, 0}));
    CHECK(is(zemm_query_dims, 3, (dims_t){4, 2, 3}) && is(zemm_query_strides, 3, (dims_t){1, 12, 4}));
    drop();
    INVALID("permutation[2]=1", zemm_memory_desc_permute_axes(&out, in, (int[]){0, 1, 1}));
    INVALID("permutation[0]=3", zemm_memory_desc_permute_axes(&out, in, (int[]){3, 1, 0}));
    INVALID("permutation[1]=-1", zemm_memory_desc_permute_axes(&out, in, (int[]){0, -1, 2}));
    tagged("BA16a64b", 2, (dims_t){20, 30}, zemm_s8);
    OK(zemm_memory_desc_permute_axes(&out, in, (int[]){1, 0}));
    CHECK(is(zemm_query_inner_idxs, 2, (dims_t){1, 0}) && is(zemm_query_padded_dims, 2, (dims_t){64, 32}));
    drop();
    tagged("ab", 2, (dims_t){RT, 30}, zemm_s8);
    INVALID("permuted", zemm_memory_desc_permute_axes(&out, in, (int[]){1, 0}));
}

static void blob_of(uint8_t *bytes, size_t *size) {
    OK(zemm_memory_desc_get_blob(NULL, size, in));
    CHECK(*size <= 4096);
    OK(zemm_memory_desc_get_blob(bytes, size, in));
    OK(zemm_memory_desc_create_with_blob(&out, bytes));
    CHECK(zemm_memory_desc_equal(in, out) == 1);
    drop();
}

/* A blob whose number of elements or groups needs more bytes than 64 bits count. */
static void huge_counts(void) {
    const dims_t dims = {10, 20};
    const int64_t seven = 7, huge = INT64_MAX / 4;
    uint8_t bytes[4096];
    for (int grouped = 0; grouped < 2; grouped++) {
        size_t size = 0, changed = 0;
        if (grouped)
            OK(zemm_memory_desc_create_with_grouped_encoding(&out, 2, dims, zemm_f32, 0, seven, zemm_s32));
        else
            OK(zemm_memory_desc_create_with_csr_encoding(&out, 2, dims, zemm_f32, seven, zemm_s32, zemm_s64));
        OK(zemm_memory_desc_get_blob(NULL, &size, out));
        CHECK(size <= sizeof bytes);
        OK(zemm_memory_desc_get_blob(bytes, &size, out));
        drop();
        for (size_t at = 0; at + sizeof seven <= size; at += sizeof seven)
            if (!memcmp(bytes + at, &seven, sizeof seven)) {
                uint8_t damaged[4096];
                memcpy(damaged, bytes, size);
                memcpy(damaged + at, &huge, sizeof huge);
                INVALID("", zemm_memory_desc_create_with_blob(&out, damaged));
                changed++;
            }
        CHECK(changed == 1);
    }
}

static void blob(void) {
    uint8_t bytes[4096], damaged[4096];
    size_t size = 0;
    tagged("any", 3, (dims_t){2, 20, 30}, zemm_f32);
    blob_of(bytes, &size);
    tagged("undef", 3, (dims_t){2, 20, 30}, zemm_f32);
    blob_of(bytes, &size);
    tagged("ab", 2, (dims_t){RT, 20}, zemm_u4);
    blob_of(bytes, &size);
    tagged("aCB16b16c4b", 3, (dims_t){2, 20, 30}, zemm_s8);
    blob_of(bytes, &size);
    /* A blob with a wrong byte gives a valid descriptor or a refusal, but never a crash. */
    int refusals = 0;
    for (size_t i = 0; i < size; i++)
        for (int bit = 0; bit < 8; bit++) {
            memcpy(damaged, bytes, size);
            damaged[i] ^= (uint8_t)(1 << bit);
            zemm_status_t status = zemm_memory_desc_create_with_blob(&out, damaged);
            if (status == zemm_success) {
                CHECK(zemm_memory_desc_equal(in, out) == 0);
                zemm_memory_desc_get_size(out);
                drop();
            } else {
                CHECK(status == zemm_invalid_arguments);
                refusals++;
            }
        }
    CHECK(refusals > (int)size * 7);
    memset(damaged, 0xff, sizeof damaged);
    INVALID("blob", zemm_memory_desc_create_with_blob(&out, damaged));
    memset(damaged, 0, sizeof damaged);
    INVALID("blob", zemm_memory_desc_create_with_blob(&out, damaged));
    huge_counts();
    OK(zemm_memory_desc_create_host_scalar(&out, zemm_s32));
    OK(zemm_memory_desc_destroy(in));
    in = out;
    blob_of(bytes, &size);
}

static int number(zemm_query_t what, int index) {
    int value = -1;
    OK(zemm_memory_desc_query_v2(out, what, index, &value));
    return value;
}

static void sparse(void) {
    const dims_t dims = {10, 20};
    int64_t nnz = -1;
    int value;
    OK(zemm_memory_desc_create_with_csr_encoding(&out, 2, dims, zemm_f16, 7, zemm_s32, zemm_s64));
    CHECK(number(zemm_query_sparse_encoding, 0) == zemm_csr && number(zemm_query_num_handles_s32, 0) == 3);
    CHECK(number(zemm_query_data_type, 0) == zemm_f16 && number(zemm_query_data_type, 1) == zemm_s32);
    CHECK(number(zemm_query_data_type, 2) == zemm_s64);
    INVALID("3", zemm_memory_desc_query_v2(out, zemm_query_data_type, 3, &value));
    OK(zemm_memory_desc_query(out, zemm_query_nnz_s64, &nnz));
    CHECK(nnz == 7);
    CHECK(zemm_memory_desc_get_size_v2(out, 0) == 14 && zemm_memory_desc_get_size_v2(out, 1) == 28);
    CHECK(zemm_memory_desc_get_size_v2(out, 2) == 88 && zemm_memory_desc_get_size_v2(out, 3) == 0);
    drop();
    OK(zemm_memory_desc_create_with_coo_encoding(&out, 2, dims, zemm_f32, 7, zemm_s32));
    CHECK(number(zemm_query_num_handles_s32, 0) == 3 && zemm_memory_desc_get_size_v2(out, 2) == 28);
    for (int i = 1; i < 5; i++)
        CHECK(number(zemm_query_data_type, i) == zemm_s32); /* as oneDNN: one type for all indices */
    drop();
    OK(zemm_memory_desc_create_with_csr_encoding(&out, 2, dims, zemm_f32, 7, zemm_s8, zemm_f16));
    CHECK(number(zemm_query_data_type, 1) == zemm_s8 && number(zemm_query_data_type, 2) == zemm_f16);
    CHECK(zemm_memory_desc_get_size_v2(out, 1) == 7 && zemm_memory_desc_get_size_v2(out, 2) == 22);
    drop();
    OK(zemm_memory_desc_create_with_packed_encoding(&out, 2, dims, zemm_s8, 7));
    CHECK(number(zemm_query_num_handles_s32, 0) == 3);
    for (int part = 0; part < 3; part++)
        CHECK(zemm_memory_desc_get_size_v2(out, part) == 0); /* a matmul chooses the layout */
    drop();
    OK(zemm_memory_desc_create_with_grouped_encoding(&out, 2, dims, zemm_f32, 0, 4, zemm_s32));
    CHECK(number(zemm_query_num_handles_s32, 0) == 2 &&
          number(zemm_query_sparse_encoding, 0) == zemm_grouped);
    CHECK(zemm_memory_desc_get_size_v2(out, 0) == 800 && zemm_memory_desc_get_size_v2(out, 1) == 16);
    drop();
    const dims_t d3 = {2, 3, 4}, runtime = {RT, 20};
    UNIMPLEMENTED("ndims 3",
                  zemm_memory_desc_create_with_csr_encoding(&out, 3, d3, zemm_f32, 1, zemm_s32, zemm_s32));
    UNIMPLEMENTED("ndims 3", zemm_memory_desc_create_with_coo_encoding(&out, 3, d3, zemm_f32, 1, zemm_s32));
    UNIMPLEMENTED("ndims 3",
                  zemm_memory_desc_create_with_grouped_encoding(&out, 3, d3, zemm_f32, 0, 1, zemm_s32));
    INVALID("group_count 0",
            zemm_memory_desc_create_with_grouped_encoding(&out, 2, dims, zemm_f32, 0, 0, zemm_s32));
    INVALID("variable_dim",
            zemm_memory_desc_create_with_grouped_encoding(&out, 2, dims, zemm_f32, 2, 1, zemm_s32));
    INVALID("s64", zemm_memory_desc_create_with_grouped_encoding(&out, 2, dims, zemm_f32, 0, 1, zemm_s64));
    INVALID("*x20",
            zemm_memory_desc_create_with_grouped_encoding(&out, 2, runtime, zemm_f32, 0, 1, zemm_s32));
    INVALID("nnz -1", zemm_memory_desc_create_with_coo_encoding(&out, 2, dims, zemm_f32, -1, zemm_s32));
    INVALID("indices_dt",
            zemm_memory_desc_create_with_coo_encoding(&out, 2, dims, zemm_f32, 1, zemm_boolean));
    INVALID("pointers_dt", zemm_memory_desc_create_with_csr_encoding(&out, 2, dims, zemm_f32, 1, zemm_s32,
                                                                     zemm_data_type_undef));
}

int main(void) {
    submemory();
    reshape();
    permute();
    blob();
    sparse();
    OK(zemm_memory_desc_destroy(in));
    return 0;
}
