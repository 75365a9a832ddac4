// SPDX-License-Identifier: Apache-2.0
// Several threads: one primitive on a stream of each thread, and the same primitives created at the same
// time.
#include "in_threads.hpp"
#include "zemm_test.hpp"

namespace {

constexpr int threads = 4, rounds = 40, M = 7, K = 48, N = 19, group = 16;

const auto src_md = dense({M, K}, zemm_s8), wei_md = dense({K, N}, zemm_u8), dst_md = dense({M, N}, zemm_f32);

// The product times `slope`, with a zero point for each group.
own<zemm_primitive_desc_t> described(float slope) {
    const auto attr = new_attr();
    const auto ops = made(zemm_post_ops_create);
    const zemm_dims_t groups = {group, 1};
    OK(zemm_primitive_attr_set_zero_points(attr, ZEMM_ARG_WEIGHTS, 3, 2, groups, zemm_u8));
    OK(zemm_post_ops_append_eltwise(ops, zemm_eltwise_linear, slope, 0.f));
    OK(zemm_primitive_attr_set_post_ops(attr, ops));
    return matmul(src_md, wei_md, dst_md, attr);
}

struct data {
    int8_t src[M][K];
    uint8_t wei[K][N], zp[K / group][N];
    float dst[M][N];

    void fill(unsigned state) {
        draw(src, state, -128, 127);
        draw(wei, state, 0, 255);
        draw(zp, state, 0, 255);
        draw(dst, state, -9, -1);
    }
    void pass_to(call &c) {
        c.pass(ZEMM_ARG_SRC, src);
        c.pass(ZEMM_ARG_WEIGHTS, wei);
        c.pass(ZERO_POINTS(ZEMM_ARG_WEIGHTS), zp);
        c.pass(ZEMM_ARG_DST, dst);
    }
    void check(float slope) const {
        for (int m = 0; m < M; m++)
            for (int n = 0; n < N; n++) {
                int sum = 0;
                for (int k = 0; k < K; k++)
                    sum += src[m][k] * (wei[k][n] - zp[k / group][n]);
                CHECK(dst[m][n] == slope * float(sum));
            }
    }
};

} // namespace

// Other threads create the same primitives, the first ones of the process, and the cache is kept small.
TEST(create_and_execute) {
    cpu();
    in_threads(threads, [](int id) {
        const auto stream = new_stream();
        for (int round = 0; round < rounds; round++) {
            const float slope = float(1 << round % 5);
            OK(zemm_set_primitive_cache_capacity(round % 4));
            call c(described(slope));
            data t;
            t.pass_to(c);
            t.fill(unsigned(id + round));
            c.run(stream);
            t.check(slope);
        }
    });
    OK(zemm_set_primitive_cache_capacity(1024));
}

// Each stream must have its own scratchpad for the sums of src.
TEST(execute_shared) {
    const call shared(described(1.f));
    in_threads(threads, [&](int id) {
        const auto stream = new_stream();
        data t;
        call own_arguments(described(1.f));
        t.pass_to(own_arguments);
        const auto &args = own_arguments.args;
        for (int round = 0; round < rounds; round++) {
            t.fill(unsigned(id * 1000 + round));
            OK(zemm_primitive_execute(shared.primitive, stream, int(args.size()), args.data()));
            OK(zemm_stream_wait(stream));
            t.check(1.f);
            // Each thread has its own last error.
            INVALID("missing", zemm_primitive_execute(shared.primitive, stream, id, args.data()));
        }
    });
}
