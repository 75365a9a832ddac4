// SPDX-License-Identifier: Apache-2.0
// Descriptors made from other descriptors (submemory, reshape, permute_axes, blob), and sparse encodings.
#include <cstring>

#include "zemm_test.hpp"

namespace {

constexpr zemm_dim_t runtime = ZEMM_RUNTIME_DIM_VAL;
zemm_memory_desc_t none = nullptr; // what a refused call does not write

int64_t offset_of(const_zemm_memory_desc_t md) {
    return queried<int64_t>(md, zemm_query_submemory_offset_s64);
}

tensor part_of(const tensor &of, dims_of dims, dims_of offsets) {
    return made(zemm_memory_desc_create_submemory, of, dims.begin(), offsets.begin());
}
zemm_status_t try_part(const tensor &of, dims_of dims, dims_of offsets) {
    return zemm_memory_desc_create_submemory(&none, of, dims.begin(), offsets.begin());
}
tensor reshaped(const tensor &from, dims_of dims) {
    return made(zemm_memory_desc_reshape, from, int(dims.size()), dims.begin());
}
zemm_status_t try_reshape(const tensor &from, dims_of dims) {
    return zemm_memory_desc_reshape(&none, from, int(dims.size()), dims.begin());
}
void check_reshape(const tensor &from, dims_of dims, dims_of strides) {
    const auto md = reshaped(from, dims);
    CHECK(is(md, zemm_query_dims, dims) && is(md, zemm_query_strides, strides));
    CHECK(zemm_memory_desc_get_size(from) == zemm_memory_desc_get_size(md));
}

std::vector<uint8_t> blob_of(const tensor &md) {
    size_t size = 0;
    OK(zemm_memory_desc_get_blob(nullptr, &size, md));
    std::vector<uint8_t> bytes(size);
    OK(zemm_memory_desc_get_blob(bytes.data(), &size, md));
    size--;
    INVALID("size", zemm_memory_desc_get_blob(bytes.data(), &size, md));
    CHECK(zemm_memory_desc_equal(md, made(zemm_memory_desc_create_with_blob, bytes.data())) == 1);
    return bytes;
}

} // namespace

TEST(submemory) {
    const auto whole = tagged({6, 10}, zemm_f32, "ab"), part = part_of(whole, {2, 3}, {1, 4});
    CHECK(offset_of(part) == 14);
    CHECK(is(part, zemm_query_strides, {10, 1}) && is(part, zemm_query_dims, {2, 3}));
    CHECK(is(part, zemm_query_padded_dims, {2, 3}));
    CHECK(zemm_memory_desc_get_size(part) == (14 + 10 + 3) * 4); // up to the last element
    CHECK(!zemm_memory_desc_equal(whole, part));
    CHECK(offset_of(part_of(part, {1, 1}, {1, 2})) == 26);
    INVALID("dims[0]", try_part(whole, {6, 1}, {1, 0}));
    INVALID("dims[1]", try_part(whole, {1, 1}, {0, -1}));
    INVALID("dims[1]", try_part(whole, {1, -1}, {0, 0}));
    UNIMPLEMENTED("runtime", try_part(whole, {1, runtime}, {0, 0}));
    UNIMPLEMENTED("any", try_part(tagged({6, 10}, zemm_f32, "any"), {1, 1}, {0, 0}));
    UNIMPLEMENTED("runtime", try_part(tagged({runtime, 10}, zemm_f32, "ab"), {1, 1}, {0, 0}));
}

TEST(submemory_of_blocks) {
    const auto whole = tagged({40, 64}, zemm_f32, "AB16b16a"); // 48x64, blocks of 256, strides 1024 and 256
    const auto blocks = part_of(whole, {24, 32}, {16, 32});
    CHECK(offset_of(blocks) == 1024 + 2 * 256);
    CHECK(is(blocks, zemm_query_padded_dims, {32, 32}));
    CHECK(zemm_memory_desc_get_size(blocks) == zemm_memory_desc_get_size(whole));
    // A part of a block: the rest of the block is not padding, but belongs to its neighbours.
    const auto part = part_of(whole, {3, 32}, {16, 16});
    CHECK(is(part, zemm_query_padded_dims, {3, 32}));
    CHECK(zemm_memory_desc_get_size(part) == (1024 + 3 * 256) * 4); // whole blocks
    const auto copy = made(zemm_memory_desc_create_with_blob, blob_of(part).data());
    CHECK(is(part_of(copy, {3, 16}, {0, 16}), zemm_query_padded_dims, {3, 16}));
    UNIMPLEMENTED("cuts", try_part(whole, {16, 16}, {8, 0}));
    UNIMPLEMENTED("cuts", try_part(whole, {20, 16}, {0, 0}));
}

TEST(reshape) {
    const auto abc = tagged({2, 3, 4}, zemm_f32, "abc"), acb = tagged({2, 3, 4}, zemm_f32, "acb"),
               blocks = tagged({2, 20, 30}, zemm_f32, "aCB16b16c");
    check_reshape(abc, {6, 4}, {4, 1});
    check_reshape(abc, {24}, {1});
    check_reshape(abc, {2, 12}, {12, 1});
    check_reshape(abc, {2, 3, 2, 2}, {12, 4, 2, 1});
    check_reshape(abc, {1, 2, 1, 3, 4}, {24, 12, 12, 4, 1});
    check_reshape(abc, {4, 6}, {6, 1}); // the common volume of 24 merges and splits again
    INVALID("elements", try_reshape(abc, {5, 5}));
    INVALID("elements", try_reshape(abc, {24, runtime}));
    INVALID("dims", zemm_memory_desc_reshape(&none, abc, 0, nullptr));
    INVALID("ndims 13", try_reshape(abc, {24, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}));
    check_reshape(acb, {2, 1, 3, 4}, {12, 3, 1, 3}); // size 1: the inner extent
    INVALID("dense", try_reshape(acb, {2, 12}));
    INVALID("dense", try_reshape(acb, {6, 4}));
    check_reshape(acb, {2, 3, 2, 2}, {12, 1, 6, 3}); // any single dimension splits
    const auto more = reshaped(blocks, {1, 2, 20, 30});
    CHECK(is(more, zemm_query_inner_idxs, {2, 3}) && is(more, zemm_query_padded_dims, {1, 2, 32, 32}));
    INVALID("dense", try_reshape(blocks, {2, 600}));
    INVALID("dense", try_reshape(blocks, {40, 30}));
    CHECK(is(reshaped(tagged({4, 6}, zemm_f32, "any"), {24}), zemm_query_dims, {24}));
    INVALID("cannot", try_reshape(tagged({runtime, 6}, zemm_f32, "ab"), {24}));
    INVALID("share a byte", try_reshape(tagged({2, 6}, zemm_s4, "ab"), {4, 3}));
    INVALID("without dims", try_reshape(tagged({2, 6}, zemm_f32, "undef"), {1}));
}

// They follow the same rules.
TEST(reshape_of_empty_and_padded) {
    INVALID("dense", try_reshape(tagged({2, 3, 0, 2}, zemm_f32, "cdba"), {6, 0, 2}));
    const auto empty = tagged({2, 3, 0, 2}, zemm_f32, "cdab");
    check_reshape(empty, {6, 0, 2}, {1, 12, 6});
    INVALID("dense", try_reshape(empty, {0, 12, 2}));
    INVALID("dense", try_reshape(empty, {0}));
    const auto in_blocks = reshaped(tagged({31, 1, 0, 2}, zemm_f32, "Abcd16a"), {1, 31, 0, 2, 1});
    CHECK(is(in_blocks, zemm_query_inner_idxs, {1}));
    CHECK(is(in_blocks, zemm_query_padded_dims, {1, 32, 0, 2, 1}));
    // A dimension of 1 that has padding stays.
    const auto one = tagged({2, 1, 3}, zemm_f32, "aBc8b"), more = reshaped(one, {2, 1, 3, 1});
    INVALID("dense", try_reshape(one, {2, 3}));
    CHECK(is(more, zemm_query_padded_dims, {2, 8, 3, 1}) && is(more, zemm_query_inner_idxs, {1}));
}

TEST(permute) {
    const auto permuted = [](const tensor &from, std::initializer_list<int> axes) {
        return made(zemm_memory_desc_permute_axes, from, axes.begin());
    };
    const auto refusal = [](const tensor &from, std::initializer_list<int> axes) {
        return zemm_memory_desc_permute_axes(&none, from, axes.begin());
    };
    const auto abc = tagged({2, 3, 4}, zemm_f32, "abc"), turned = permuted(abc, {1, 2, 0});
    CHECK(is(turned, zemm_query_dims, {4, 2, 3}) && is(turned, zemm_query_strides, {1, 12, 4}));
    INVALID("permutation[2]=1", refusal(abc, {0, 1, 1}));
    INVALID("permutation[0]=3", refusal(abc, {3, 1, 0}));
    INVALID("permutation[1]=-1", refusal(abc, {0, -1, 2}));
    const auto blocks = permuted(tagged({20, 30}, zemm_s8, "BA16a64b"), {1, 0});
    CHECK(is(blocks, zemm_query_inner_idxs, {1, 0}) && is(blocks, zemm_query_padded_dims, {64, 32}));
    INVALID("permuted", refusal(tagged({runtime, 30}, zemm_s8, "ab"), {1, 0}));
}

// A blob whose number of elements or groups needs more bytes than 64 bits count.
TEST(huge_counts) {
    const zemm_dims_t dims = {10, 20};
    const int64_t seven = 7, huge = INT64_MAX / 4;
    for (const auto &md :
         {made(zemm_memory_desc_create_with_grouped_encoding, 2, dims, zemm_f32, 0, seven, zemm_s32),
          made(zemm_memory_desc_create_with_csr_encoding, 2, dims, zemm_f32, seven, zemm_s32, zemm_s64)}) {
        const std::vector<uint8_t> bytes = blob_of(md);
        int changed = 0;
        for (size_t at = 0; at + sizeof seven <= bytes.size(); at += sizeof seven)
            if (!std::memcmp(&bytes[at], &seven, sizeof seven)) {
                std::vector<uint8_t> damaged = bytes;
                std::memcpy(&damaged[at], &huge, sizeof huge);
                INVALID("", zemm_memory_desc_create_with_blob(&none, damaged.data()));
                changed++;
            }
        CHECK(changed == 1);
    }
}

// A blob with a wrong byte gives a valid descriptor or a refusal, but never a crash.
TEST(blob) {
    blob_of(tagged({2, 20, 30}, zemm_f32, "any"));
    blob_of(tagged({2, 20, 30}, zemm_f32, "undef"));
    blob_of(tagged({runtime, 20}, zemm_u4, "ab"));
    blob_of(made(zemm_memory_desc_create_host_scalar, zemm_s32));
    const auto md = tagged({2, 20, 30}, zemm_s8, "aCB16b16c4b");
    const std::vector<uint8_t> bytes = blob_of(md);
    size_t refusals = 0;
    for (size_t i = 0; i < bytes.size(); i++)
        for (int bit = 0; bit < 8; bit++) {
            std::vector<uint8_t> damaged = bytes;
            damaged[i] ^= uint8_t(1 << bit);
            tensor other;
            const zemm_status_t status = zemm_memory_desc_create_with_blob(&other, damaged.data());
            CHECK(status == zemm_success || status == zemm_invalid_arguments);
            if (status == zemm_success) {
                CHECK(zemm_memory_desc_equal(md, other) == 0);
                zemm_memory_desc_get_size(other);
            }
            refusals += status != zemm_success;
        }
    CHECK(refusals * 100 > bytes.size() * 8 * 95);
    for (const uint8_t byte : {0xff, 0})
        INVALID("blob", zemm_memory_desc_create_with_blob(&none, std::vector<uint8_t>(4096, byte).data()));
}

TEST(sparse) {
    const zemm_dims_t dims = {10, 20}, d3 = {2, 3, 4}, open = {runtime, 20};
    // Bytes of each buffer, and its type.
    const auto check = [](const tensor &md, std::initializer_list<std::pair<size_t, int>> parts) {
        int i = 0;
        CHECK(queried<int>(md, zemm_query_num_handles_s32) == int(parts.size()));
        for (const auto &[size, type] : parts) {
            CHECK(zemm_memory_desc_get_size_v2(md, i) == size);
            CHECK(type < 0 || queried<int>(md, zemm_query_data_type, i) == type);
            i++;
        }
        CHECK(zemm_memory_desc_get_size_v2(md, i) == 0);
    };
    const auto csr =
                   made(zemm_memory_desc_create_with_csr_encoding, 2, dims, zemm_f16, 7, zemm_s32, zemm_s64),
               coo = made(zemm_memory_desc_create_with_coo_encoding, 2, dims, zemm_f32, 7, zemm_s32),
               grouped =
                   made(zemm_memory_desc_create_with_grouped_encoding, 2, dims, zemm_f32, 0, 4, zemm_s32);
    int value = 0;
    CHECK(queried<int>(csr, zemm_query_sparse_encoding) == zemm_csr);
    CHECK(queried<int>(grouped, zemm_query_sparse_encoding) == zemm_grouped);
    CHECK(queried<int64_t>(csr, zemm_query_nnz_s64) == 7);
    INVALID("3", zemm_memory_desc_query_v2(csr, zemm_query_data_type, 3, &value));
    check(csr, {{14, zemm_f16}, {28, zemm_s32}, {88, zemm_s64}});
    check(coo, {{28, zemm_f32}, {28, zemm_s32}, {28, zemm_s32}});
    for (int i = 1; i < 5; i++)
        CHECK(queried<int>(coo, zemm_query_data_type, i) == zemm_s32); // as oneDNN: one type for all indices
    check(made(zemm_memory_desc_create_with_csr_encoding, 2, dims, zemm_f32, 7, zemm_s8, zemm_f16),
          {{28, zemm_f32}, {7, zemm_s8}, {22, zemm_f16}});
    // A matmul chooses the layout.
    check(made(zemm_memory_desc_create_with_packed_encoding, 2, dims, zemm_s8, 7),
          {{0, -1}, {0, -1}, {0, -1}});
    check(grouped, {{800, zemm_f32}, {16, zemm_s32}});

    const auto csr_of = [](int ndims, const zemm_dim_t *sizes, zemm_data_type_t pointers) {
        return zemm_memory_desc_create_with_csr_encoding(&none, ndims, sizes, zemm_f32, 1, zemm_s32,
                                                         pointers);
    };
    const auto coo_of = [](int ndims, const zemm_dim_t *sizes, zemm_dim_t nnz, zemm_data_type_t indices) {
        return zemm_memory_desc_create_with_coo_encoding(&none, ndims, sizes, zemm_f32, nnz, indices);
    };
    const auto grouped_of = [](int ndims, const zemm_dim_t *sizes, int variable, zemm_dim_t count,
                               zemm_data_type_t offsets) {
        return zemm_memory_desc_create_with_grouped_encoding(&none, ndims, sizes, zemm_f32, variable, count,
                                                             offsets);
    };
    UNIMPLEMENTED("ndims 3", csr_of(3, d3, zemm_s32));
    UNIMPLEMENTED("ndims 3", coo_of(3, d3, 1, zemm_s32));
    UNIMPLEMENTED("ndims 3", grouped_of(3, d3, 0, 1, zemm_s32));
    INVALID("group_count 0", grouped_of(2, dims, 0, 0, zemm_s32));
    INVALID("variable_dim", grouped_of(2, dims, 2, 1, zemm_s32));
    INVALID("s64", grouped_of(2, dims, 0, 1, zemm_s64));
    INVALID("*x20", grouped_of(2, open, 0, 1, zemm_s32));
    INVALID("nnz -1", coo_of(2, dims, -1, zemm_s32));
    INVALID("indices_dt", coo_of(2, dims, 1, zemm_boolean));
    INVALID("pointers_dt", csr_of(2, dims, zemm_data_type_undef));
}
