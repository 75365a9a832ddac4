// SPDX-License-Identifier: Apache-2.0
// A grouped matmul: each group of rows of src has a matrix of weights. Executions follow each other without a
// wait, their objects go while the work may still run, and a hint of the largest group is taken.
#include <algorithm>

#include "zemm_test.hpp"

namespace {

constexpr int rows = 11, K = 16, N = 20, groups = 3;

struct data {
    float src[rows][K], wei[groups][K][N], dst[rows][N];
    int32_t ends[groups];

    explicit data(int which) {
        constexpr int32_t all_ends[2][groups] = {{4, 4, 11}, {0, 9, 10}};
        unsigned state = unsigned(which);
        draw(src, state, -6, 6);
        draw(wei, state, -5, 5);
        std::fill_n(&dst[0][0], rows * N, -1e6f);
        std::copy_n(all_ends[which], groups, ends);
    }
    void check() const {
        for (int row = 0; row < rows; row++)
            for (int n = 0; n < N; n++) {
                int group = 0;
                while (group < groups && row >= ends[group])
                    group++;
                float sum = group < groups ? 0.f : -1e6f; // rows past the last group stay
                for (int k = 0; group < groups && k < K; k++)
                    sum += src[row][k] * wei[group][k][n];
                CHECK(dst[row][n] == sum);
            }
    }
};

tensor grouped(zemm_dim_t columns) {
    const zemm_dims_t dims = {rows, columns};
    return made(zemm_memory_desc_create_with_grouped_encoding, 2, dims, zemm_f32, 0, groups, zemm_s32);
}

void execute(zemm_primitive_t primitive, zemm_stream_t stream, data &d) {
    const_zemm_primitive_desc_t pd = got(zemm_primitive_get_primitive_desc, primitive);
    const auto md = [&](zemm_query_t what) { return zemm_primitive_desc_query_md(pd, what, 0); };
    void *src_parts[] = {d.src, d.ends}, *dst_parts[] = {d.dst, d.ends};
    int32_t largest = 9;
    const auto src = made(zemm_memory_create_v2, md(zemm_query_src_md), cpu(), 2, src_parts),
               wei = made(zemm_memory_create, md(zemm_query_weights_md), cpu(), d.wei),
               dst = made(zemm_memory_create_v2, md(zemm_query_dst_md), cpu(), 2, dst_parts),
               hint = made(zemm_memory_create_host_scalar,
                           made(zemm_memory_desc_create_host_scalar, zemm_s32), &largest);
    const zemm_exec_arg_t args[] = {{ZEMM_ARG_SRC, src},
                                    {ZEMM_ARG_WEIGHTS, wei},
                                    {ZEMM_ARG_DST, dst},
                                    {ZEMM_ARG_HINT_MAX_GROUP_SIZE, hint}};
    OK(zemm_primitive_execute(primitive, stream, 4, args));
}

} // namespace

TEST(groups_of_rows) {
    const auto src_md = grouped(K), dst_md = grouped(N);
    const auto pd = matmul(src_md, dense({groups, K, N}, zemm_f32), dst_md);
    CHECK(zemm_memory_desc_equal(zemm_primitive_desc_query_md(pd, zemm_query_src_md, 0), src_md));
    CHECK(zemm_memory_desc_equal(zemm_primitive_desc_query_md(pd, zemm_query_dst_md, 0), dst_md));
    CHECK(zemm_primitive_desc_query_s32(pd, zemm_query_num_of_inputs_s32, 0) == 2);
    auto primitive = made(zemm_primitive_create, made(zemm_primitive_desc_clone, pd));
    auto stream = new_stream();
    data first(0), second(1);
    execute(primitive, stream, first);
    execute(primitive, stream, second); // other sizes: another kernel may run
    primitive.end();
    OK(zemm_stream_wait(stream));
    first.check();
    second.check();

    // The next implementation computes the same.
    OK(zemm_primitive_desc_next_impl(pd));
    data third(0);
    execute(made(zemm_primitive_create, pd), stream, third);
    stream.end(); // waits
    third.check();
}
