// SPDX-License-Identifier: Apache-2.0
// Matmul primitive descriptors and primitives from C: queries, refused attributes, the list of
// implementations.
#include "zemm_test.hpp"

namespace {

const auto s8_2x32 = dense({2, 32}, zemm_s8), u8_32x16 = dense({32, 16}, zemm_u8),
           f32_2x16 = dense({2, 16}, zemm_f32), f32_1x16 = dense({1, 16}, zemm_f32),
           f32_2x32 = dense({2, 32}, zemm_f32), f32_32x16 = dense({32, 16}, zemm_f32),
           zero = dense({}, zemm_data_type_undef);

zemm_status_t create(zemm_primitive_desc_t *pd, const_zemm_primitive_attr_t attr = nullptr) {
    return zemm_matmul_primitive_desc_create(pd, cpu(), s8_2x32, u8_32x16, nullptr, f32_2x16, attr);
}

bool answers(const_zemm_primitive_desc_t pd, zemm_query_t what, int index,
             const_zemm_memory_desc_t expected) {
    const_zemm_memory_desc_t md = zemm_primitive_desc_query_md(pd, what, index);
    return md && zemm_memory_desc_equal(md, expected) &&
           zemm_memory_desc_equal(queried<const_zemm_memory_desc_t>(pd, what, index), expected);
}

int post_ops_of(const_zemm_primitive_desc_t pd) {
    return zemm_post_ops_len(got(zemm_primitive_attr_get_post_ops, got(zemm_primitive_desc_get_attr, pd)));
}

// With scales, a zero point, reductions and four post-ops, which are not the attribute's any more.
own<zemm_primitive_desc_t> with_attributes(const tensor &condition) {
    const zemm_dims_t of_scales = {1, 16}, of_reductions = {1, 8};
    const auto attr = new_attr();
    OK(zemm_primitive_attr_set_scales(attr, ZEMM_ARG_SRC, 3, 2, of_scales, zemm_f16));
    OK(zemm_primitive_attr_set_zero_points(attr, ZEMM_ARG_WEIGHTS, 0, 0, nullptr, zemm_u8));
    OK(zemm_primitive_attr_set_precomputed_reductions(attr, ZEMM_ARG_SRC, 3, 2, of_reductions, zemm_s32));
    const auto ops = made(zemm_post_ops_create);
    OK(zemm_post_ops_append_sum(ops, 1.f, 0, zemm_data_type_undef));
    OK(zemm_post_ops_append_binary(ops, zemm_binary_mul, f32_1x16));
    OK(zemm_post_ops_append_binary_v2(ops, zemm_binary_select, f32_2x16, condition));
    OK(zemm_post_ops_append_prelu(ops, 2));
    OK(zemm_primitive_attr_set_post_ops(attr, ops));
    auto pd = matmul(s8_2x32, u8_32x16, f32_2x16, attr, f32_1x16);
    OK(zemm_primitive_attr_set_post_ops(attr, made(zemm_post_ops_create)));
    return pd;
}

} // namespace

TEST(test_queries) {
    const auto condition = dense({1, 1}, zemm_u8);
    auto first = with_attributes(condition);
    CHECK(post_ops_of(first) == 4);
    const auto pd = made(zemm_primitive_desc_clone, first);
    first.end();
    CHECK(post_ops_of(pd) == 4);

    int count = -1;
    CHECK(zemm_primitive_desc_query_s32(pd, zemm_query_num_of_inputs_s32, 0) == 2 + 1 + 1 + 2 + 1);
    CHECK(zemm_primitive_desc_query_s32(pd, zemm_query_num_of_outputs_s32, 0) == 1);
    CHECK(queried<int>(pd, zemm_query_num_of_inputs_s32) == 7);
    CHECK(queried<zemm_engine_t>(pd, zemm_query_engine) == cpu());
    CHECK(queried<zemm_engine_t>(pd, zemm_query_scratchpad_engine) == cpu());
    CHECK(queried<zemm_primitive_kind_t>(pd, zemm_query_primitive_kind) == zemm_matmul);
    CHECK(!impl_of(pd).empty());
    CHECK(queried<int64_t>(pd, zemm_query_cache_blob_id_size_s64) > 0);
    UNIMPLEMENTED("query 0", zemm_primitive_desc_query(pd, zemm_query_undef, 0, &count));
    UNIMPLEMENTED("query 11", zemm_primitive_desc_query(pd, zemm_query_prop_kind, 0, &count));
    CHECK(zemm_primitive_desc_query_s32(pd, zemm_query_engine, 0) == 0);
    CHECK(zemm_primitive_desc_query_s32(nullptr, zemm_query_num_of_inputs_s32, 0) == 0);
    CHECK(!zemm_primitive_desc_query_md(nullptr, zemm_query_src_md, 0));
    CHECK(!zemm_primitive_desc_query_md(pd, zemm_query_engine, 0));

    const struct {
        zemm_query_t what;
        int index;
        const_zemm_memory_desc_t md;
    } tensors[] = {{zemm_query_src_md, 0, s8_2x32},      {zemm_query_weights_md, 0, u8_32x16},
                   {zemm_query_weights_md, 1, f32_1x16}, {zemm_query_dst_md, 0, f32_2x16},
                   {zemm_query_src_md, 1, zero},         {zemm_query_weights_md, 2, zero},
                   {zemm_query_dst_md, -1, zero},        {zemm_query_workspace_md, 0, zero},
                   {zemm_query_diff_src_md, 0, zero},    {zemm_query_scratchpad_md, 0, zero}};
    for (const auto &row : tensors)
        CHECK(answers(pd, row.what, row.index, row.md));
    const auto of_post_op = [](int number, int arg) { return ZEMM_ARG_ATTR_MULTIPLE_POST_OP(number) | arg; };
    const auto scales = dense({2, 2}, zemm_f16), reductions = dense({2, 4}, zemm_s32);
    const std::pair<int, const_zemm_memory_desc_t> arguments[] = {
        {ZEMM_ARG_SRC, s8_2x32},
        {ZEMM_ARG_WEIGHTS, u8_32x16},
        {ZEMM_ARG_BIAS, f32_1x16},
        {ZEMM_ARG_DST, f32_2x16},
        {SCALES(ZEMM_ARG_SRC), scales},
        {REDUCTIONS, reductions},
        {of_post_op(1, ZEMM_ARG_SRC_1), f32_1x16},
        {of_post_op(2, ZEMM_ARG_SRC_1), f32_2x16},
        {of_post_op(2, ZEMM_ARG_SRC_2), condition},
        {of_post_op(3, ZEMM_ARG_WEIGHTS), f32_1x16},
        {of_post_op(0, ZEMM_ARG_SRC_1), zero},
        {of_post_op(1, ZEMM_ARG_SRC_2), zero},
        {ZEMM_ARG_SCRATCHPAD, zero},
        {SCALES(ZEMM_ARG_WEIGHTS), zero},
        {ZERO_POINTS(ZEMM_ARG_WEIGHTS), zero}, // its mask is 0
        {0, zero}};
    for (const auto &[arg, md] : arguments)
        CHECK(answers(pd, zemm_query_exec_arg_md, arg, md));
}

// Format any becomes dense row-major. For weights it becomes the layout that the chosen kernel reads best.
TEST(test_any) {
    const auto any = [](zemm_dim_t rows, zemm_dim_t columns) {
        return tagged({rows, columns}, zemm_f32, zemm_format_tag_any);
    };
    const auto pd = matmul(any(2, 32), any(32, 16), any(2, 16), nullptr, any(1, 16));
    const auto packed = tagged({32, 16}, zemm_f32, "BA16a64b");
    const bool is_generic = impl_of(pd).find("generic") != std::string::npos;
    CHECK(answers(pd, zemm_query_src_md, 0, f32_2x32));
    CHECK(answers(pd, zemm_query_weights_md, 0, is_generic ? f32_32x16 : packed));
    CHECK(answers(pd, zemm_query_weights_md, 1, f32_1x16));
    CHECK(answers(pd, zemm_query_dst_md, 0, f32_2x16));
}

// Tensors whose number of dimensions, or a post-op whose dimensions, do not fit.
TEST(test_shapes) {
    zemm_primitive_desc_t none = nullptr;
    const auto three = dense({2, 16, 1}, zemm_f32), one = dense({32}, zemm_s8);
    const auto refused = [&](const tensor &src, const tensor &wei, const tensor &bias, const tensor &dst) {
        return zemm_matmul_primitive_desc_create(&none, cpu(), src, wei, bias, dst, nullptr);
    };
    INVALID("dst", refused(s8_2x32, u8_32x16, tensor(), three));
    INVALID("bias", refused(s8_2x32, u8_32x16, three, f32_2x16));
    INVALID("src", refused(one, one, tensor(), one));
    for (const tensor *operand : {&f32_2x32, &three}) {
        const auto attr = new_attr();
        const auto ops = made(zemm_post_ops_create);
        OK(zemm_post_ops_append_binary(ops, zemm_binary_add, *operand));
        OK(zemm_primitive_attr_set_post_ops(attr, ops));
        INVALID("post-op 0", create(&none, attr));
    }
    CHECK(!none);
}

// Descriptors of one problem share what was decided for the first one, but no descriptor changes another, and
// ZEMM_KERNEL may change between them.
TEST(equal_problems) {
    own<zemm_primitive_desc_t> first, second, forced, third;
    OK(create(&first));
    OK(create(&second));
    const std::string best = impl_of(first);
    CHECK(impl_of(second) == best);
    OK(zemm_primitive_desc_next_impl(first));
    CHECK(impl_of(first) != best && impl_of(second) == best);
    setenv("ZEMM_KERNEL", impl_of(first).c_str(), 1);
    OK(create(&forced));
    CHECK(impl_of(forced) == impl_of(first));
    setenv("ZEMM_KERNEL", "none", 1);
    UNIMPLEMENTED("", create(&third));
    unsetenv("ZEMM_KERNEL");
    OK(create(&third));
    CHECK(impl_of(third) == best);
}
