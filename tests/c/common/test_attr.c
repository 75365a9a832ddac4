/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes: settings can be read back; a setting that breaks a rule is refused and changes
 * nothing. */
#include "destroy.h"

static zemm_primitive_attr_t attr;

static void modes(void) {
    zemm_fpmath_mode_t fpmath = zemm_fpmath_mode_any;
    zemm_accumulation_mode_t acc = zemm_accumulation_mode_any;
    zemm_scratchpad_mode_t scratchpad = zemm_scratchpad_mode_user;
    int value = -1;
    OK(zemm_primitive_attr_get_fpmath_mode_v2(attr, &fpmath, &value));
    CHECK(fpmath == zemm_fpmath_mode_strict && value == 0);
    OK(zemm_primitive_attr_get_accumulation_mode(attr, &acc));
    CHECK(acc == zemm_accumulation_mode_strict);
    OK(zemm_primitive_attr_get_scratchpad_mode(attr, &scratchpad));
    CHECK(scratchpad == zemm_scratchpad_mode_library);
    OK(zemm_primitive_attr_get_deterministic(attr, &value));
    CHECK(value == 0);

    OK(zemm_primitive_attr_set_fpmath_mode_v2(attr, zemm_fpmath_mode_bf16, 1));
    INVALID("mode 5", zemm_primitive_attr_set_fpmath_mode(attr, (zemm_fpmath_mode_t)5));
    OK(zemm_primitive_attr_get_fpmath_mode_v2(attr, &fpmath, &value));
    CHECK(fpmath == zemm_fpmath_mode_bf16 && value == 1);
    OK(zemm_primitive_attr_set_fpmath_mode(attr, zemm_fpmath_mode_tf32));
    OK(zemm_primitive_attr_get_fpmath_mode(attr, &fpmath));
    OK(zemm_primitive_attr_get_fpmath_mode_v2(attr, NULL, &value));
    CHECK(fpmath == zemm_fpmath_mode_tf32 && value == 0);

    OK(zemm_primitive_attr_set_accumulation_mode(attr, zemm_accumulation_mode_f16));
    INVALID("mode 6", zemm_primitive_attr_set_accumulation_mode(attr, (zemm_accumulation_mode_t)6));
    OK(zemm_primitive_attr_get_accumulation_mode(attr, &acc));
    CHECK(acc == zemm_accumulation_mode_f16);

    OK(zemm_primitive_attr_set_scratchpad_mode(attr, zemm_scratchpad_mode_user));
    INVALID("mode 2", zemm_primitive_attr_set_scratchpad_mode(attr, (zemm_scratchpad_mode_t)2));
    OK(zemm_primitive_attr_get_scratchpad_mode(attr, &scratchpad));
    CHECK(scratchpad == zemm_scratchpad_mode_user);

    OK(zemm_primitive_attr_set_deterministic(attr, 1));
    OK(zemm_primitive_attr_get_deterministic(attr, &value));
    CHECK(value == 1);

    OK(zemm_primitive_attr_get_saturation(attr, &value));
    CHECK(value == 0);
    OK(zemm_primitive_attr_set_saturation(attr, 1));
    OK(zemm_primitive_attr_get_saturation(attr, &value));
    CHECK(value == 1);
    INVALID("value is NULL", zemm_primitive_attr_get_saturation(attr, NULL));
    OK(zemm_primitive_attr_set_saturation(attr, 0));
}

static void default_fpmath(void) {
    zemm_fpmath_mode_t mode = zemm_fpmath_mode_any;
    zemm_primitive_attr_t other;
    OK(zemm_get_default_fpmath_mode(&mode));
    CHECK(mode == zemm_fpmath_mode_strict);
    INVALID("mode 9", zemm_set_default_fpmath_mode((zemm_fpmath_mode_t)9));
    OK(zemm_set_default_fpmath_mode(zemm_fpmath_mode_f16));
    OK(zemm_primitive_attr_create(&other));
    OK(zemm_primitive_attr_get_fpmath_mode(other, &mode));
    CHECK(mode == zemm_fpmath_mode_f16);
    OK(zemm_primitive_attr_get_fpmath_mode(attr, &mode));
    CHECK(mode == zemm_fpmath_mode_tf32); /* the older attribute keeps its mode */
    OK(zemm_primitive_attr_destroy(other));
    OK(zemm_set_default_fpmath_mode(zemm_fpmath_mode_strict));
}

static void rounding(void) {
    zemm_rounding_mode_t mode = zemm_rounding_mode_stochastic;
    OK(zemm_primitive_attr_get_rounding(attr, ZEMM_ARG_DST, &mode));
    CHECK(mode == zemm_rounding_mode_environment);
    OK(zemm_primitive_attr_set_rounding(attr, ZEMM_ARG_DST, zemm_rounding_mode_stochastic));
    OK(zemm_primitive_attr_get_rounding(attr, ZEMM_ARG_DST, &mode));
    CHECK(mode == zemm_rounding_mode_stochastic);
    INVALID("src0", zemm_primitive_attr_set_rounding(attr, ZEMM_ARG_SRC, zemm_rounding_mode_stochastic));
    OK(zemm_primitive_attr_set_rounding(attr, ZEMM_ARG_SRC, zemm_rounding_mode_environment));
    INVALID("mode 2", zemm_primitive_attr_set_rounding(attr, ZEMM_ARG_DST, (zemm_rounding_mode_t)2));
    OK(zemm_primitive_attr_set_rounding(attr, ZEMM_ARG_DST, zemm_rounding_mode_environment));
    OK(zemm_primitive_attr_get_rounding(attr, ZEMM_ARG_DST, &mode));
    CHECK(mode == zemm_rounding_mode_environment);
}

static void reduced_range(void) {
    int value = 1;
    OK(zemm_primitive_attr_get_reduced_range(attr, ZEMM_ARG_SRC, &value));
    CHECK(value == 0);
    OK(zemm_primitive_attr_set_reduced_range(attr, ZEMM_ARG_SRC, 1));
    OK(zemm_primitive_attr_get_reduced_range(attr, ZEMM_ARG_SRC, &value));
    CHECK(value == 1);
    INVALID("wei", zemm_primitive_attr_set_reduced_range(attr, ZEMM_ARG_WEIGHTS, 1));
    INVALID("value is NULL", zemm_primitive_attr_get_reduced_range(attr, ZEMM_ARG_SRC, NULL));
    OK(zemm_primitive_attr_set_reduced_range(attr, ZEMM_ARG_SRC, 0));
    OK(zemm_primitive_attr_get_reduced_range(attr, ZEMM_ARG_SRC, &value));
    CHECK(value == 0);
}

static void src_dyn_quant(void) {
    zemm_dim_t size = 1;
    OK(zemm_primitive_attr_get_src_dyn_quant_params(attr, &size));
    CHECK(size == 0);
    OK(zemm_primitive_attr_set_src_dyn_quant_params(attr, 32));
    OK(zemm_primitive_attr_get_src_dyn_quant_params(attr, &size));
    CHECK(size == 32);
    INVALID("group_size is -1", zemm_primitive_attr_set_src_dyn_quant_params(attr, -1));
    INVALID("group_size is NULL", zemm_primitive_attr_get_src_dyn_quant_params(attr, NULL));
    OK(zemm_primitive_attr_get_src_dyn_quant_params(attr, &size));
    CHECK(size == 32); /* a refused value changes nothing */
    OK(zemm_primitive_attr_set_src_dyn_quant_params(attr, INT64_MAX));
    OK(zemm_primitive_attr_get_src_dyn_quant_params(attr, &size));
    CHECK(size == INT64_MAX);
    OK(zemm_primitive_attr_set_src_dyn_quant_params(attr, 0));
    OK(zemm_primitive_attr_get_src_dyn_quant_params(attr, &size));
    CHECK(size == 0);
}

static void dropout(void) {
    zemm_memory_desc_t u8, f32;
    const_zemm_memory_desc_t mask = NULL;
    zemm_data_type_t seed = zemm_f32;
    int offset = -1, host = -1;
    const zemm_dims_t dims = {3, 5};
    OK(zemm_memory_desc_create_with_tag(&u8, 2, dims, zemm_u8, zemm_ab));
    OK(zemm_memory_desc_create_with_tag(&f32, 2, dims, zemm_f32, zemm_ab));
    OK(zemm_primitive_attr_set_dropout(attr, u8));
    OK(zemm_primitive_attr_get_dropout(attr, &mask));
    CHECK(mask != u8 && zemm_memory_desc_equal(mask, u8) == 1);
    OK(zemm_primitive_attr_get_dropout_v2(attr, NULL, &seed, &offset, &host));
    CHECK(seed == zemm_s32 && offset == 0 && host == 0);
    OK(zemm_primitive_attr_set_dropout_v2(attr, u8, zemm_s64, 1, 1));
    INVALID("f32", zemm_primitive_attr_set_dropout(attr, f32));
    INVALID("s8", zemm_primitive_attr_set_dropout_v2(attr, u8, zemm_s8, 0, 0));
    OK(zemm_primitive_attr_get_dropout_v2(attr, &mask, &seed, &offset, &host));
    CHECK(zemm_memory_desc_equal(mask, u8) == 1 && seed == zemm_s64 && offset == 1 && host == 1);
    OK(zemm_memory_desc_destroy(f32));
    OK(zemm_memory_desc_create_with_strides(&f32, 0, NULL, zemm_data_type_undef, NULL));
    OK(zemm_primitive_attr_set_dropout(attr, f32)); /* a zero descriptor means no mask */
    OK(zemm_primitive_attr_get_dropout(attr, &mask));
    CHECK(zemm_memory_desc_equal(mask, f32) == 1);
    DESTROY(f32, u8);
}

#define SCALES(arg, mask, gnd, gd, dt, host, mode)                                                           \
    zemm_primitive_attr_set_scales_v3(attr, arg, mask, gnd, gd, dt, host, mode)
#define STATIC zemm_quantization_mode_static_sazp

/* tests/house/test_lists.py has the data types of scales and of zero points. */
static void scales(void) {
    const zemm_dims_t groups = {1, 32}, zero = {1, 0}, negative = {-1, 32};
    static const int args[] = {1, 2, 3, 17, 33, 34, 35, 1024, 1025, 16384 | 1, 16384 | 33, 16384 | 17};
    for (size_t i = 0; i < sizeof args / sizeof *args; i++)
        OK(zemm_primitive_attr_set_scales_mask(attr, args[i], 0));
    static const int bad_args[] = {0, 41, 42, -1, 64, 4096 | 1, 2048, 32768, 16384 | 41};
    for (size_t i = 0; i < sizeof bad_args / sizeof *bad_args; i++)
        INVALID("arg", zemm_primitive_attr_set_scales_mask(attr, bad_args[i], 0));
    OK(SCALES(ZEMM_ARG_DST, 3, 2, groups, zemm_e8m0, 0, zemm_quantization_mode_dynamic_mx));
    OK(SCALES(ZEMM_ARG_DST, 3, 2, groups, zemm_f8_e4m3, 0, zemm_quantization_mode_dynamic_fp));
    OK(SCALES(ZEMM_ARG_SRC, 0, 0, NULL, zemm_f16, 1, STATIC));
    OK(SCALES(ZEMM_ARG_WEIGHTS, 2, 0, groups, zemm_f32, 0, STATIC)); /* group_ndims 0: groups unread */
    INVALID("e8m0", SCALES(ZEMM_ARG_SRC, 0, 0, NULL, zemm_e8m0, 0, STATIC));
    INVALID("f8_e4m3", SCALES(ZEMM_ARG_SRC, 0, 0, NULL, zemm_f8_e4m3, 0, STATIC));
    INVALID("group_ndims 1", SCALES(ZEMM_ARG_SRC, 3, 1, groups, zemm_f32, 0, STATIC));
    INVALID("group_ndims 3", SCALES(ZEMM_ARG_SRC, 3, 3, groups, zemm_f32, 0, STATIC));
    INVALID("group_ndims -2", SCALES(ZEMM_ARG_SRC, 3, -2, groups, zemm_f32, 0, STATIC));
    INVALID("group_dims is NULL", SCALES(ZEMM_ARG_SRC, 3, 2, NULL, zemm_f32, 0, STATIC));
    INVALID("group_dims[1]=0", SCALES(ZEMM_ARG_SRC, 3, 2, zero, zemm_f32, 0, STATIC));
    INVALID("group_dims[0]=-1", SCALES(ZEMM_ARG_SRC, 3, 2, negative, zemm_f32, 0, STATIC));
    INVALID("mask 0", SCALES(ZEMM_ARG_SRC, 0, 2, groups, zemm_f32, 0, STATIC));
    INVALID("mask -1", SCALES(ZEMM_ARG_SRC, -1, 0, NULL, zemm_f32, 0, STATIC));
    INVALID("mask 4096", SCALES(ZEMM_ARG_SRC, 4096, 0, NULL, zemm_f32, 0, STATIC));
    INVALID("host", SCALES(ZEMM_ARG_SRC, 1, 0, NULL, zemm_f32, 1, STATIC));
    INVALID("qmode 0", SCALES(ZEMM_ARG_SRC, 1, 0, NULL, zemm_f32, 0, zemm_quantization_mode_undef));
    INVALID("qmode 4", SCALES(ZEMM_ARG_SRC, 1, 0, NULL, zemm_f32, 0, (zemm_quantization_mode_t)4));
    OK(zemm_primitive_attr_set_scales(attr, ZEMM_ARG_WEIGHTS, 3, 2, groups, zemm_f16));
    OK(zemm_primitive_attr_set_scales_v2(attr, ZEMM_ARG_WEIGHTS, 0, 0, NULL, zemm_f16, 1));
}

#define ZERO_POINTS(arg, mask, gnd, gd, dt, host)                                                            \
    zemm_primitive_attr_set_zero_points_v2(attr, arg, mask, gnd, gd, dt, host)

static void zero_points(void) {
    const zemm_dims_t groups = {32, 1};
    static const int args[] = {1, 3, 17, 33, 34, 35};
    for (size_t i = 0; i < 6; i++)
        OK(zemm_primitive_attr_set_zero_points_mask(attr, args[i], 0));
    static const int bad_args[] = {0, 2, 41, -1, 1024, 16384 | 33};
    for (size_t i = 0; i < 6; i++)
        INVALID("arg", zemm_primitive_attr_set_zero_points_mask(attr, bad_args[i], 0));
    INVALID("only those of weights", ZERO_POINTS(ZEMM_ARG_SRC, 0, 0, NULL, zemm_f32, 0));
    INVALID("only those of weights", ZERO_POINTS(ZEMM_ARG_DST, 0, 0, NULL, zemm_f16, 0));
    INVALID("s4", ZERO_POINTS(ZEMM_ARG_WEIGHTS, 0, 0, NULL, zemm_s4, 0));
    INVALID("u4", ZERO_POINTS(ZEMM_ARG_WEIGHTS, 0, 0, NULL, zemm_u4, 0));
    INVALID("u2", ZERO_POINTS(ZEMM_ARG_WEIGHTS, 0, 0, NULL, zemm_u2, 0));
    INVALID("s8", ZERO_POINTS(ZEMM_ARG_DST, 0, 0, NULL, zemm_s8, 0));
    INVALID("groups", ZERO_POINTS(ZEMM_ARG_DST, 3, 2, groups, zemm_s32, 0));
    INVALID("mask 0", ZERO_POINTS(ZEMM_ARG_WEIGHTS, 0, 2, groups, zemm_s32, 0));
    INVALID("mask -3", ZERO_POINTS(ZEMM_ARG_WEIGHTS, -3, 0, NULL, zemm_s32, 0));
    INVALID("group_ndims 1", ZERO_POINTS(ZEMM_ARG_WEIGHTS, 3, 1, groups, zemm_s32, 0));
    INVALID("host", ZERO_POINTS(ZEMM_ARG_WEIGHTS, 2, 0, NULL, zemm_s32, 1));
    OK(ZERO_POINTS(ZEMM_ARG_WEIGHTS, 0, 0, NULL, zemm_s8, 1));
    OK(ZERO_POINTS(ZEMM_ARG_WEIGHTS, 0, 0, NULL, zemm_bf16, 1));
    OK(zemm_primitive_attr_set_zero_points(attr, ZEMM_ARG_SRC, 2, 2, groups, zemm_u8));
}

static void offsets(void) {
    const zemm_dims_t groups = {32, 1};
    static const zemm_data_type_t types[] = {zemm_f16, zemm_bf16, zemm_f32};
    for (size_t i = 0; i < 3; i++)
        OK(zemm_primitive_attr_set_offsets(attr, ZEMM_ARG_WEIGHTS, 3, 2, groups, types[i]));
    OK(zemm_primitive_attr_set_offsets(attr, ZEMM_ARG_WEIGHTS, 0, 0, NULL, zemm_f32));
    static const int bad_args[] = {0, 1, 17, 34, 41, -1};
    for (size_t i = 0; i < 6; i++)
        INVALID("only weights have offsets",
                zemm_primitive_attr_set_offsets(attr, bad_args[i], 0, 0, NULL, zemm_f32));
    INVALID("s8", zemm_primitive_attr_set_offsets(attr, ZEMM_ARG_WEIGHTS, 0, 0, NULL, zemm_s8));
    INVALID("f64", zemm_primitive_attr_set_offsets(attr, ZEMM_ARG_WEIGHTS, 0, 0, NULL, zemm_f64));
    INVALID("mask 0", zemm_primitive_attr_set_offsets(attr, ZEMM_ARG_WEIGHTS, 0, 2, groups, zemm_f32));
    INVALID("group_ndims 1", zemm_primitive_attr_set_offsets(attr, ZEMM_ARG_WEIGHTS, 3, 1, groups, zemm_f32));
}

static void reductions(void) {
    const zemm_dims_t groups = {1, 64};
    OK(zemm_primitive_attr_set_precomputed_reductions(attr, ZEMM_ARG_SRC, 3, 2, groups, zemm_s32));
    INVALID("wei",
            zemm_primitive_attr_set_precomputed_reductions(attr, ZEMM_ARG_WEIGHTS, 3, 2, groups, zemm_s32));
    /* Those of dst are for a reorder with dynamic scales. */
    OK(zemm_primitive_attr_set_scales_mask(attr, ZEMM_ARG_DST, 0));
    INVALID("dynamic scales",
            zemm_primitive_attr_set_precomputed_reductions(attr, ZEMM_ARG_DST, 3, 2, groups, zemm_s32));
    OK(zemm_primitive_attr_set_scales_v3(attr, ZEMM_ARG_DST, 3, 2, groups, zemm_f32, 0,
                                         zemm_quantization_mode_dynamic_fp));
    OK(zemm_primitive_attr_set_precomputed_reductions(attr, ZEMM_ARG_DST, 3, 2, groups, zemm_s32));
    INVALID("src1",
            zemm_primitive_attr_set_precomputed_reductions(attr, ZEMM_ARG_SRC_1, 3, 2, groups, zemm_s32));
    INVALID("f32",
            zemm_primitive_attr_set_precomputed_reductions(attr, ZEMM_ARG_SRC, 3, 2, groups, zemm_f32));
    INVALID("mask 0",
            zemm_primitive_attr_set_precomputed_reductions(attr, ZEMM_ARG_SRC, 0, 2, groups, zemm_s32));
    INVALID("group_ndims 1",
            zemm_primitive_attr_set_precomputed_reductions(attr, ZEMM_ARG_SRC, 3, 1, groups, zemm_s32));
    OK(zemm_primitive_attr_set_precomputed_reductions(attr, ZEMM_ARG_SRC, 3, 0, NULL, zemm_s32));
}

static void copies(void) {
    zemm_primitive_attr_t copy;
    zemm_post_ops_t list;
    const_zemm_post_ops_t kept = NULL;
    zemm_accumulation_mode_t acc = zemm_accumulation_mode_any;
    OK(zemm_post_ops_create(&list));
    OK(zemm_post_ops_append_eltwise(list, zemm_eltwise_relu, 0.5f, 0.f));
    OK(zemm_primitive_attr_set_post_ops(attr, list));
    OK(zemm_post_ops_append_prelu(list, 2)); /* the attribute was copied before */
    OK(zemm_primitive_attr_get_post_ops(attr, &kept));
    CHECK(kept != list && zemm_post_ops_len(kept) == 1);
    OK(zemm_primitive_attr_clone(&copy, attr));
    OK(zemm_primitive_attr_set_accumulation_mode(attr, zemm_accumulation_mode_strict));
    OK(zemm_primitive_attr_set_post_ops(attr, list));
    OK(zemm_primitive_attr_get_accumulation_mode(copy, &acc));
    OK(zemm_primitive_attr_get_post_ops(copy, &kept));
    CHECK(acc == zemm_accumulation_mode_f16 && zemm_post_ops_len(kept) == 1);
    DESTROY(list, copy);
    OK(zemm_primitive_attr_destroy(NULL));
}

int main(void) {
    OK(zemm_primitive_attr_create(&attr));
    modes();
    default_fpmath();
    rounding();
    reduced_range();
    src_dyn_quant();
    dropout();
    scales();
    zero_points();
    offsets();
    reductions();
    copies();
    OK(zemm_primitive_attr_destroy(attr));
    return 0;
}
