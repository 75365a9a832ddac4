// SPDX-License-Identifier: Apache-2.0
// Execution of matmul primitives from C: submemories, types, zero dimensions, scratchpads.
// tests/matmul/test_execute_arguments.py has the refusals of each argument.
#include <algorithm>
#include <cstring>

#include "zemm_test.hpp"

namespace {

constexpr int M = 2, K = 32, N = 3;
int8_t src[M][K];
uint8_t wei[K][N];
float dst[M][N];

void fill() {
    unsigned state = 11;
    draw(src, state, -128, 127);
    draw(wei, state, 0, 255);
    std::memset(dst, 0xff, sizeof dst);
}

bool untouched(const float *values, size_t count) {
    const auto *bytes = reinterpret_cast<const unsigned char *>(values);
    return std::all_of(bytes, bytes + count * sizeof *values,
                       [](unsigned char byte) { return byte == 0xff; });
}

} // namespace

// A primitive that was made for submemories takes their parents.
TEST(test_submemories) {
    constexpr int wide = 2 * K, rows = 3;
    int8_t parent_src[M][wide] = {};
    float parent_dst[rows][N];
    const zemm_dims_t src_dims = {M, K}, src_at = {0, K}, dst_dims = {M, N}, dst_at = {1, 0};
    const auto big_src = dense({M, wide}, zemm_s8), big_dst = dense({rows, N}, zemm_f32),
               s = made(zemm_memory_desc_create_submemory, big_src, src_dims, src_at),
               d = made(zemm_memory_desc_create_submemory, big_dst, dst_dims, dst_at);
    fill();
    for (int m = 0; m < M; m++)
        std::memcpy(&parent_src[m][K], src[m], K);
    std::memset(parent_dst, 0xff, sizeof parent_dst);
    call c(matmul(s, dense({K, N}, zemm_u8), d));
    c.pass(ZEMM_ARG_SRC, parent_src, big_src);
    c.pass(ZEMM_ARG_WEIGHTS, wei);
    c.pass(ZEMM_ARG_DST, parent_dst, big_dst);
    const auto stream = new_stream();
    const auto refused_with = [&](size_t argument, const char *word, const tensor &md, void *data) {
        const auto memory = made(zemm_memory_create, md, cpu(), data);
        const zemm_memory_t right = std::exchange(c.args[argument].memory, zemm_memory_t(memory));
        INVALID(word, c.execute(stream));
        c.args[argument].memory = right;
    };
    refused_with(0, "ZEMM_ARG_SRC", dense({M - 1, wide}, zemm_s8), parent_src); // the submemory does not fit
    refused_with(0, "ZEMM_ARG_SRC", dense({M, K}, zemm_s8), src);               // other strides
    refused_with(2, "ZEMM_ARG_DST", dense({M, N}, zemm_f32), dst);
    CHECK(untouched(dst[0], M * N) && untouched(parent_dst[0], rows * N));
    c.run(stream);
    CHECK(untouched(parent_dst[0], N));
    for (int n = 0; n < N; n++)
        for (int m = 0; m < M; m++) {
            int sum = 0;
            for (int k = 0; k < K; k++)
                sum += src[m][k] * wei[k][n];
            CHECK(parent_dst[m + 1][n] == float(sum));
        }
    const auto itself = made(zemm_memory_create, s, cpu(), &parent_src[0][0]); // the submemory works, too
    c.args[0].memory = itself;
    c.run(stream);
}

// A memory may have another data type of the same size, such as that in which a sum reads dst.
TEST(test_types) {
    uint8_t out[M][N];
    int8_t ones[M][K];
    uint8_t fours[K][N];
    std::memset(ones, 1, sizeof ones);
    std::memset(fours, 4, sizeof fours);
    const auto attr = new_attr();
    const auto sum = made(zemm_post_ops_create);
    OK(zemm_post_ops_append_sum(sum, 1.f, 0, zemm_s8));
    OK(zemm_primitive_attr_set_post_ops(attr, sum));
    const auto stream = new_stream();
    for (const zemm_data_type_t type : {zemm_u8, zemm_s8, zemm_f32}) {
        call c(matmul(dense({M, K}, zemm_s8), dense({K, N}, zemm_u8), dense({M, N}, zemm_u8), attr));
        c.pass(ZEMM_ARG_SRC, ones);
        c.pass(ZEMM_ARG_WEIGHTS, fours);
        std::memset(out, 0xff, sizeof out); // -1 as s8
        const bool fits = type != zemm_f32;
        c.pass(ZEMM_ARG_DST, fits ? static_cast<void *>(out) : dst, dense({M, N}, type));
        if (fits) {
            c.run(stream);
            CHECK(out[0][0] == 4 * K - 1 && out[M - 1][N - 1] == 4 * K - 1);
        } else {
            INVALID("ZEMM_ARG_DST has data type f32", c.execute(stream));
        }
    }
}

// The scratchpad that a matmul says it needs. tests/matmul/test_execute_arguments.py passes one.
TEST(test_scratchpad) {
    const auto with_mode = [](zemm_scratchpad_mode_t mode) {
        const auto attr = new_attr();
        OK(zemm_primitive_attr_set_zero_points(attr, ZEMM_ARG_WEIGHTS, 0, 0, nullptr, zemm_u8));
        OK(zemm_primitive_attr_set_scratchpad_mode(attr, mode));
        return matmul(dense({M, K}, zemm_s8), dense({K, N}, zemm_u8), dense({M, N}, zemm_f32), attr);
    };
    const auto library = with_mode(zemm_scratchpad_mode_library), user = with_mode(zemm_scratchpad_mode_user);
    CHECK(zemm_memory_desc_get_size(zemm_primitive_desc_query_md(library, zemm_query_scratchpad_md, 0)) == 0);
    const auto bytes = queried<int64_t>(library, zemm_query_memory_consumption_s64);
    CHECK(bytes > 0 && queried<int64_t>(user, zemm_query_memory_consumption_s64) == 0);
    const_zemm_memory_desc_t md = zemm_primitive_desc_query_md(user, zemm_query_scratchpad_md, 0);
    CHECK(zemm_memory_desc_get_size(md) == size_t(bytes) + 63); // room to begin at any address
    CHECK(queried<int>(md, zemm_query_ndims_s32) == 1 && queried<int>(md, zemm_query_data_type) == zemm_u8);
    CHECK(zemm_memory_desc_equal(
        md, zemm_primitive_desc_query_md(user, zemm_query_exec_arg_md, ZEMM_ARG_SCRATCHPAD)));
}

// With a dimension of 0, even K, the execution succeeds and dst keeps its contents.
TEST(test_zero_dims) {
    const auto stream = new_stream();
    const auto attr = new_attr();
    const auto ops = made(zemm_post_ops_create);
    OK(zemm_post_ops_append_eltwise(ops, zemm_eltwise_linear, 1.f, 5.f));
    OK(zemm_primitive_attr_set_post_ops(attr, ops));
    constexpr zemm_dim_t sizes[][3] = {{0, 4, 3}, {2, 0, 3}, {2, 4, 0}, {0, 0, 0}};
    for (const auto &[m, k, n] : sizes)
        for (const int batch : {-1, 1, 0}) { // -1: without a batch
            const auto f32 = [&](zemm_dim_t rows, zemm_dim_t columns, int matrices) {
                return batch < 0 ? dense({rows, columns}, zemm_f32)
                                 : dense({matrices, rows, columns}, zemm_f32);
            };
            call c(matmul(f32(m, k, batch), f32(k, n, batch), f32(m, n, batch), attr, f32(1, n, 1)));
            fill();
            for (const int arg : {ZEMM_ARG_SRC, ZEMM_ARG_WEIGHTS, ZEMM_ARG_BIAS})
                c.pass(arg, src);
            INVALID("missing", c.execute(stream));
            c.pass(ZEMM_ARG_DST, dst);
            c.run(stream);
            CHECK(untouched(dst[0], M * N));
        }
}
