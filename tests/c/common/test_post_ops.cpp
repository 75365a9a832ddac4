// SPDX-License-Identifier: Apache-2.0
// Post-op lists: entries can be read back; an entry that breaks a rule is refused and not appended.
#include "zemm_test.hpp"

namespace {

const auto list = made(zemm_post_ops_create);

int len() {
    return zemm_post_ops_len(list);
}

} // namespace

TEST(sum) {
    float scale = 0;
    int32_t zero_point = 0;
    zemm_data_type_t type = zemm_f64;
    CHECK(len() == 0);
    OK(zemm_post_ops_append_sum(list, 0.25f, -3, zemm_u8));
    OK(zemm_post_ops_append_sum(list, 1.f, 0, zemm_data_type_undef));
    CHECK(len() == 2 && zemm_post_ops_get_kind(list, 0) == zemm_sum);
    OK(zemm_post_ops_get_params_sum(list, 0, &scale, &zero_point, &type));
    CHECK(scale == 0.25f && zero_point == -3 && type == zemm_u8);
    OK(zemm_post_ops_get_params_sum(list, 1, nullptr, nullptr, &type));
    CHECK(type == zemm_data_type_undef);
    INVALID("99", zemm_post_ops_append_sum(list, 1.f, 0, zemm_data_type_t(99)));
    INVALID("scale", zemm_post_ops_append_sum(list, ZEMM_RUNTIME_F32_VAL, 0, zemm_f32));
    INVALID("sum", zemm_post_ops_get_params_prelu(list, 0, nullptr));
    INVALID("index 2", zemm_post_ops_get_params_sum(list, 2, &scale, nullptr, nullptr));
    INVALID("index -1", zemm_post_ops_get_params_sum(list, -1, &scale, nullptr, nullptr));
    CHECK(len() == 2 && scale == 0.25f);
}

TEST(eltwise) {
    zemm_alg_kind_t alg = zemm_alg_kind_undef;
    float alpha = 0, beta = 0;
    const int start = len();
    const float runtime = ZEMM_RUNTIME_F32_VAL;
    const struct {
        const char *refusal;
        int alg;
        float alpha, beta;
    } rows[] = {{"", zemm_eltwise_linear, 2, -1.5f},
                {"", zemm_eltwise_clip, 1, 1},
                {"", zemm_eltwise_relu, -1, 0},
                {"beta", zemm_eltwise_clip, 1, 0.5f},
                {"beta", zemm_eltwise_clip_v2, 1, 0.5f},
                {"beta", zemm_eltwise_clip_v2_use_dst_for_bwd, 1, 0.5f},
                {"alpha", zemm_eltwise_relu_use_dst_for_bwd, -1, 0},
                {"alpha", zemm_eltwise_elu_use_dst_for_bwd, -1, 0},
                {"alpha", zemm_eltwise_linear, runtime, 0},
                {"beta", zemm_eltwise_linear, 1, runtime},
                {"binary_add", zemm_binary_add, 0, 0},
                {"0x35", 0x35, 0, 0},
                {"0x1f", 0x1f, 0, 0},
                {"0x107", 0x107, 0, 0}};
    for (const auto &row : rows) {
        const auto append = [&] {
            return zemm_post_ops_append_eltwise(list, zemm_alg_kind_t(row.alg), row.alpha, row.beta);
        };
        if (*row.refusal)
            INVALID(row.refusal, append());
        else
            OK(append());
    }
    CHECK(len() == start + 3 && zemm_post_ops_get_kind(list, start) == zemm_eltwise);
    OK(zemm_post_ops_get_params_eltwise(list, start, &alg, &alpha, &beta));
    CHECK(alg == zemm_eltwise_linear && alpha == 2.f && beta == -1.5f);
    INVALID("eltwise", zemm_post_ops_get_params_sum(list, start, nullptr, nullptr, nullptr));
}

TEST(binary) {
    const auto row = dense({1, 5}, zemm_f32), any = tagged({3, 5}, zemm_s8, zemm_format_tag_any),
               runtime = tagged({ZEMM_RUNTIME_DIM_VAL, 5}, zemm_f32, zemm_ab),
               zero = dense({}, zemm_data_type_undef),
               scalar = made(zemm_memory_desc_create_host_scalar, zemm_f32);
    const_zemm_memory_desc_t src1 = nullptr, src2 = nullptr;
    zemm_alg_kind_t alg = zemm_alg_kind_undef;
    const int start = len();
    for (int a = zemm_binary_add; a < zemm_binary_select; a++)
        OK(zemm_post_ops_append_binary(list, zemm_alg_kind_t(a), row));
    OK(zemm_post_ops_append_binary_v2(list, zemm_binary_sub, row, zero));
    OK(zemm_post_ops_append_binary_v2(list, zemm_binary_select, row, any));
    CHECK(len() == start + 14);
    OK(zemm_post_ops_get_params_binary(list, start + 1, &alg, &src1));
    CHECK(alg == zemm_binary_mul && src1 != row && zemm_memory_desc_equal(src1, row) == 1);
    OK(zemm_post_ops_get_params_binary_v2(list, start + 12, &alg, &src1, &src2));
    CHECK(alg == zemm_binary_sub && zemm_memory_desc_equal(src2, zero) == 1);
    OK(zemm_post_ops_get_params_binary_v2(list, start + 13, nullptr, &src1, &src2));
    CHECK(zemm_memory_desc_equal(src1, row) == 1 && zemm_memory_desc_equal(src2, any) == 1);
    CHECK(zemm_post_ops_get_kind(list, start + 13) == zemm_binary);

    INVALID("eltwise_relu", zemm_post_ops_append_binary(list, zemm_eltwise_relu, row));
    INVALID("0x1fffe", zemm_post_ops_append_binary(list, zemm_alg_kind_t(0x1fffe), row));
    INVALID("runtime", zemm_post_ops_append_binary(list, zemm_binary_add, runtime));
    INVALID("dimensions", zemm_post_ops_append_binary(list, zemm_binary_add, zero));
    INVALID("host_scalar", zemm_post_ops_append_binary(list, zemm_binary_add, scalar));
    INVALID("needs src2", zemm_post_ops_append_binary(list, zemm_binary_select, row));
    INVALID("needs src2", zemm_post_ops_append_binary_v2(list, zemm_binary_select, row, zero));
    INVALID("no use for src2", zemm_post_ops_append_binary_v2(list, zemm_binary_add, row, any));
    INVALID("f32", zemm_post_ops_append_binary_v2(list, zemm_binary_select, row, row));
    INVALID("runtime", zemm_post_ops_append_binary_v2(list, zemm_binary_select, row, runtime));
    CHECK(len() == start + 14);
}

TEST(prelu) {
    const int start = len();
    OK(zemm_post_ops_append_prelu(list, 3));
    CHECK(got(zemm_post_ops_get_params_prelu, list, start) == 3);
    CHECK(zemm_post_ops_get_kind(list, start) == zemm_prelu);
    INVALID("mask -1", zemm_post_ops_append_prelu(list, -1));
    CHECK(len() == start + 1);
}

TEST(depthwise) {
    zemm_dim_t kernel = 0;
    const int count = len();
    UNIMPLEMENTED("zemm has none: leave it out of the list",
                  zemm_post_ops_append_dw(list, zemm_s8, zemm_f32, zemm_f32, 3, 1, 1));
    INVALID("post_ops", zemm_post_ops_append_dw(nullptr, zemm_s8, zemm_f32, zemm_f32, 3, 1, 1));
    INVALID("not a convolution", zemm_post_ops_get_params_dw(list, count - 1, nullptr, nullptr, nullptr,
                                                             &kernel, nullptr, nullptr));
    CHECK(len() == count && kernel == 0);
}

TEST(limit) {
    const auto copy = made(zemm_post_ops_clone, list);
    while (zemm_post_ops_len(copy) < 32)
        OK(zemm_post_ops_append_prelu(copy, 0));
    REFUSED(zemm_out_of_memory, "32", zemm_post_ops_append_prelu(copy, 0));
    REFUSED(zemm_out_of_memory, "32", zemm_post_ops_append_sum(copy, 1.f, 0, zemm_f32));
    REFUSED(zemm_out_of_memory, "32", zemm_post_ops_append_eltwise(copy, zemm_eltwise_relu, 0.f, 0.f));
    CHECK(zemm_post_ops_len(copy) == 32 && len() < 32);
}

TEST(missing) {
    CHECK(zemm_post_ops_len(nullptr) == 0);
    CHECK(zemm_post_ops_get_kind(nullptr, 0) == zemm_undefined_primitive);
    CHECK(zemm_post_ops_get_kind(list, -1) == zemm_undefined_primitive);
    CHECK(zemm_post_ops_get_kind(list, 99) == zemm_undefined_primitive);
    OK(zemm_post_ops_destroy(nullptr));
}
