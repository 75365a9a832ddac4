// SPDX-License-Identifier: Apache-2.0
// Attributes: settings can be read back; a setting that breaks a rule is refused and changes nothing.
#include "zemm_test.hpp"

namespace {

const auto attr = new_attr();
const zemm_dims_t groups = {1, 32}, columns = {32, 1};

// A setting has this value at first, takes the others, and refuses a wrong one.
template <typename T, typename Get, typename Set>
void setting(Get get, Set set, T first, std::initializer_list<std::type_identity_t<T>> values,
             std::type_identity_t<T> wrong, const char *why) {
    CHECK(get() == first);
    for (const T value : values) {
        OK(set(value));
        CHECK(get() == value);
        if (*why)
            INVALID(why, set(wrong));
        CHECK(get() == value);
    }
}
#define SETTING(name, ...)                                                                                   \
    setting([] { return got(zemm_primitive_attr_get_##name, attr); },                                        \
            [](auto value) { return zemm_primitive_attr_set_##name(attr, value); }, __VA_ARGS__)
#define SETTING_OF(name, arg, ...)                                                                           \
    setting([] { return got(zemm_primitive_attr_get_##name, attr, arg); },                                   \
            [](auto value) { return zemm_primitive_attr_set_##name(attr, arg, value); }, __VA_ARGS__)

} // namespace

TEST(settings) {
    SETTING(fpmath_mode, zemm_fpmath_mode_strict, {zemm_fpmath_mode_tf32}, zemm_fpmath_mode_t(5), "mode 5");
    SETTING(accumulation_mode, zemm_accumulation_mode_strict, {zemm_accumulation_mode_f16},
            zemm_accumulation_mode_t(6), "mode 6");
    SETTING(scratchpad_mode, zemm_scratchpad_mode_library, {zemm_scratchpad_mode_user},
            zemm_scratchpad_mode_t(2), "mode 2");
    SETTING(deterministic, 0, {1}, 0, "");
    SETTING(saturation, 0, {1, 0}, 0, "");
    SETTING(src_dyn_quant_params, zemm_dim_t(0), {zemm_dim_t(32), INT64_MAX, 0}, zemm_dim_t(-1),
            "group_size is -1");
    SETTING_OF(rounding, ZEMM_ARG_DST, zemm_rounding_mode_environment,
               {zemm_rounding_mode_stochastic, zemm_rounding_mode_environment}, zemm_rounding_mode_t(2),
               "mode 2");
    SETTING_OF(reduced_range, ZEMM_ARG_SRC, 0, {1, 0}, 0, "");
    INVALID("src0", zemm_primitive_attr_set_rounding(attr, ZEMM_ARG_SRC, zemm_rounding_mode_stochastic));
    OK(zemm_primitive_attr_set_rounding(attr, ZEMM_ARG_SRC, zemm_rounding_mode_environment));
    INVALID("wei", zemm_primitive_attr_set_reduced_range(attr, ZEMM_ARG_WEIGHTS, 1));
    INVALID("value is NULL", zemm_primitive_attr_get_reduced_range(attr, ZEMM_ARG_SRC, nullptr));
    zemm_primitive_attr_t none = nullptr;
    INVALID("existing is NULL", zemm_primitive_attr_clone(&none, nullptr));
    INVALID("value is NULL", zemm_primitive_attr_get_saturation(attr, nullptr));
    INVALID("group_size is NULL", zemm_primitive_attr_get_src_dyn_quant_params(attr, nullptr));
    // The mode, and whether it is for integers, too.
    zemm_fpmath_mode_t mode = zemm_fpmath_mode_any;
    int is_for_integers = -1;
    OK(zemm_primitive_attr_get_fpmath_mode_v2(attr, nullptr, &is_for_integers));
    CHECK(is_for_integers == 0);
    OK(zemm_primitive_attr_set_fpmath_mode_v2(attr, zemm_fpmath_mode_bf16, 1));
    OK(zemm_primitive_attr_get_fpmath_mode_v2(attr, &mode, &is_for_integers));
    CHECK(mode == zemm_fpmath_mode_bf16 && is_for_integers == 1);
    OK(zemm_primitive_attr_set_fpmath_mode(attr, zemm_fpmath_mode_tf32));
    OK(zemm_primitive_attr_get_fpmath_mode_v2(attr, &mode, &is_for_integers));
    CHECK(mode == zemm_fpmath_mode_tf32 && is_for_integers == 0);
}

TEST(default_fpmath) {
    CHECK(got(zemm_get_default_fpmath_mode) == zemm_fpmath_mode_strict);
    INVALID("mode 9", zemm_set_default_fpmath_mode(zemm_fpmath_mode_t(9)));
    OK(zemm_set_default_fpmath_mode(zemm_fpmath_mode_f16));
    CHECK(got(zemm_primitive_attr_get_fpmath_mode, new_attr()) == zemm_fpmath_mode_f16);
    CHECK(got(zemm_primitive_attr_get_fpmath_mode, attr) == zemm_fpmath_mode_tf32); // the older attribute
    OK(zemm_set_default_fpmath_mode(zemm_fpmath_mode_strict));
}

TEST(dropout) {
    const auto u8 = dense({3, 5}, zemm_u8), f32 = dense({3, 5}, zemm_f32),
               none = dense({}, zemm_data_type_undef);
    const_zemm_memory_desc_t mask = nullptr;
    zemm_data_type_t seed = zemm_f32;
    int offset = -1, host = -1;
    OK(zemm_primitive_attr_set_dropout(attr, u8));
    mask = got(zemm_primitive_attr_get_dropout, attr);
    CHECK(mask != u8 && zemm_memory_desc_equal(mask, u8) == 1);
    OK(zemm_primitive_attr_get_dropout_v2(attr, nullptr, &seed, &offset, &host));
    CHECK(seed == zemm_s32 && offset == 0 && host == 0);
    OK(zemm_primitive_attr_set_dropout_v2(attr, u8, zemm_s64, 1, 1));
    INVALID("f32", zemm_primitive_attr_set_dropout(attr, f32));
    INVALID("s8", zemm_primitive_attr_set_dropout_v2(attr, u8, zemm_s8, 0, 0));
    OK(zemm_primitive_attr_get_dropout_v2(attr, &mask, &seed, &offset, &host));
    CHECK(zemm_memory_desc_equal(mask, u8) == 1 && seed == zemm_s64 && offset == 1 && host == 1);
    OK(zemm_primitive_attr_set_dropout(attr, none)); // a zero descriptor means no mask
    CHECK(zemm_memory_desc_equal(got(zemm_primitive_attr_get_dropout, attr), none) == 1);
}

// A setting of a parameter that is refused with this word, or taken ("").
struct parameter {
    const char *refusal;
    int arg, mask, group_ndims;
    const zemm_dim_t *group_dims;
    zemm_data_type_t type;
    int host = 0;
    zemm_quantization_mode_t mode = zemm_quantization_mode_static_sazp;
};
template <typename Set> static void set_each(Set set, std::initializer_list<parameter> rows) {
    for (const parameter &p : rows)
        if (*p.refusal)
            INVALID(p.refusal, set(p));
        else
            OK(set(p));
}
template <typename Set>
static void set_masks(Set set, std::initializer_list<int> good, std::initializer_list<int> bad) {
    for (const int arg : good)
        OK(set(attr, arg, 0));
    for (const int arg : bad)
        INVALID("arg", set(attr, arg, 0));
}

// tests/house/test_lists.py has the data types of scales and of zero points.
TEST(scales) {
    const zemm_dims_t zero = {1, 0}, negative = {-1, 32};
    set_masks(zemm_primitive_attr_set_scales_mask,
              {1, 2, 3, 17, 33, 34, 35, 1024, 1025, 16384 | 1, 16384 | 33, 16384 | 17},
              {0, 41, 42, -1, 64, 4096 | 1, 2048, 32768, 16384 | 41});
    set_each(
        [](const parameter &p) {
            return zemm_primitive_attr_set_scales_v3(attr, p.arg, p.mask, p.group_ndims, p.group_dims, p.type,
                                                     p.host, p.mode);
        },
        {{"", ZEMM_ARG_DST, 3, 2, groups, zemm_e8m0, 0, zemm_quantization_mode_dynamic_mx},
         {"", ZEMM_ARG_DST, 3, 2, groups, zemm_f8_e4m3, 0, zemm_quantization_mode_dynamic_fp},
         {"", ZEMM_ARG_SRC, 0, 0, nullptr, zemm_f16, 1},
         {"", ZEMM_ARG_WEIGHTS, 2, 0, groups, zemm_f32}, // group_ndims 0: groups unread
         {"e8m0", ZEMM_ARG_SRC, 0, 0, nullptr, zemm_e8m0},
         {"f8_e4m3", ZEMM_ARG_SRC, 0, 0, nullptr, zemm_f8_e4m3},
         {"group_ndims 1", ZEMM_ARG_SRC, 3, 1, groups, zemm_f32},
         {"group_ndims 3", ZEMM_ARG_SRC, 3, 3, groups, zemm_f32},
         {"group_ndims -2", ZEMM_ARG_SRC, 3, -2, groups, zemm_f32},
         {"group_dims is NULL", ZEMM_ARG_SRC, 3, 2, nullptr, zemm_f32},
         {"group_dims[1]=0", ZEMM_ARG_SRC, 3, 2, zero, zemm_f32},
         {"group_dims[0]=-1", ZEMM_ARG_SRC, 3, 2, negative, zemm_f32},
         {"mask 0", ZEMM_ARG_SRC, 0, 2, groups, zemm_f32},
         {"mask -1", ZEMM_ARG_SRC, -1, 0, nullptr, zemm_f32},
         {"mask 4096", ZEMM_ARG_SRC, 4096, 0, nullptr, zemm_f32},
         {"host", ZEMM_ARG_SRC, 1, 0, nullptr, zemm_f32, 1},
         {"qmode 0", ZEMM_ARG_SRC, 1, 0, nullptr, zemm_f32, 0, zemm_quantization_mode_undef},
         {"qmode 4", ZEMM_ARG_SRC, 1, 0, nullptr, zemm_f32, 0, zemm_quantization_mode_t(4)}});
    OK(zemm_primitive_attr_set_scales(attr, ZEMM_ARG_WEIGHTS, 3, 2, groups, zemm_f16));
    OK(zemm_primitive_attr_set_scales_v2(attr, ZEMM_ARG_WEIGHTS, 0, 0, nullptr, zemm_f16, 1));
}

TEST(zero_points) {
    set_masks(zemm_primitive_attr_set_zero_points_mask, {1, 3, 17, 33, 34, 35},
              {0, 2, 41, -1, 1024, 16384 | 33});
    set_each(
        [](const parameter &p) {
            return zemm_primitive_attr_set_zero_points_v2(attr, p.arg, p.mask, p.group_ndims, p.group_dims,
                                                          p.type, p.host);
        },
        {{"only those of weights", ZEMM_ARG_SRC, 0, 0, nullptr, zemm_f32},
         {"only those of weights", ZEMM_ARG_DST, 0, 0, nullptr, zemm_f16},
         {"s4", ZEMM_ARG_WEIGHTS, 0, 0, nullptr, zemm_s4},
         {"u4", ZEMM_ARG_WEIGHTS, 0, 0, nullptr, zemm_u4},
         {"u2", ZEMM_ARG_WEIGHTS, 0, 0, nullptr, zemm_u2},
         {"s8", ZEMM_ARG_DST, 0, 0, nullptr, zemm_s8},
         {"groups", ZEMM_ARG_DST, 3, 2, columns, zemm_s32},
         {"mask 0", ZEMM_ARG_WEIGHTS, 0, 2, columns, zemm_s32},
         {"mask -3", ZEMM_ARG_WEIGHTS, -3, 0, nullptr, zemm_s32},
         {"group_ndims 1", ZEMM_ARG_WEIGHTS, 3, 1, columns, zemm_s32},
         {"host", ZEMM_ARG_WEIGHTS, 2, 0, nullptr, zemm_s32, 1},
         {"", ZEMM_ARG_WEIGHTS, 0, 0, nullptr, zemm_s8, 1},
         {"", ZEMM_ARG_WEIGHTS, 0, 0, nullptr, zemm_bf16, 1}});
    OK(zemm_primitive_attr_set_zero_points(attr, ZEMM_ARG_SRC, 2, 2, columns, zemm_u8));
}

TEST(offsets) {
    const auto set = [](const parameter &p) {
        return zemm_primitive_attr_set_offsets(attr, p.arg, p.mask, p.group_ndims, p.group_dims, p.type);
    };
    for (const int arg : {0, 1, 17, 34, 41, -1})
        INVALID("only weights have offsets", set({"", arg, 0, 0, nullptr, zemm_f32}));
    set_each(set, {{"", ZEMM_ARG_WEIGHTS, 3, 2, columns, zemm_f16},
                   {"", ZEMM_ARG_WEIGHTS, 3, 2, columns, zemm_bf16},
                   {"", ZEMM_ARG_WEIGHTS, 3, 2, columns, zemm_f32},
                   {"", ZEMM_ARG_WEIGHTS, 0, 0, nullptr, zemm_f32},
                   {"s8", ZEMM_ARG_WEIGHTS, 0, 0, nullptr, zemm_s8},
                   {"f64", ZEMM_ARG_WEIGHTS, 0, 0, nullptr, zemm_f64},
                   {"mask 0", ZEMM_ARG_WEIGHTS, 0, 2, columns, zemm_f32},
                   {"group_ndims 1", ZEMM_ARG_WEIGHTS, 3, 1, columns, zemm_f32}});
}

// Factors make integers of scales and offsets that are set after them.
TEST(factors) {
    const auto fresh = made(zemm_primitive_attr_create);
    const auto check = [&](auto set_factors, auto set, const char *of) {
        INVALID("data_type u8 is not one of", set(fresh, ZEMM_ARG_WEIGHTS, 3, 2, columns, zemm_u8));
        for (const int arg : {0, 1, 17, 34, 41, -1})
            INVALID(of, set_factors(fresh, arg, 0, 0, nullptr, zemm_f32));
        INVALID("s8", set_factors(fresh, ZEMM_ARG_WEIGHTS, 3, 2, columns, zemm_s8));
        INVALID("e8m0", set_factors(fresh, ZEMM_ARG_WEIGHTS, 3, 2, columns, zemm_e8m0));
        INVALID("mask 0", set_factors(fresh, ZEMM_ARG_WEIGHTS, 0, 2, columns, zemm_f16));
        for (const zemm_data_type_t type : {zemm_f16, zemm_bf16, zemm_f32})
            OK(set_factors(fresh, ZEMM_ARG_WEIGHTS, 3, 2, columns, type));
        OK(set(fresh, ZEMM_ARG_WEIGHTS, 3, 2, columns, zemm_u8));
        OK(set(fresh, ZEMM_ARG_WEIGHTS, 3, 2, columns, zemm_s8));
        INVALID("data_type f16 is not one of s8, u8, as factors are set for it",
                set(fresh, ZEMM_ARG_WEIGHTS, 3, 2, columns, zemm_f16));
    };
    check(zemm_primitive_attr_set_scale_factors, zemm_primitive_attr_set_scales,
          "only scales of weights have factors");
    check(zemm_primitive_attr_set_offset_factors, zemm_primitive_attr_set_offsets,
          "only offsets of weights have factors");
    INVALID("data_type u8 is not one of",
            zemm_primitive_attr_set_scales(fresh, ZEMM_ARG_SRC, 3, 2, columns, zemm_u8));
}

TEST(reductions) {
    const auto set = [](const parameter &p) {
        return zemm_primitive_attr_set_precomputed_reductions(attr, p.arg, p.mask, p.group_ndims,
                                                              p.group_dims, p.type);
    };
    // Those of dst are for a reorder with dynamic scales.
    OK(zemm_primitive_attr_set_scales_mask(attr, ZEMM_ARG_DST, 0));
    set_each(set, {{"", ZEMM_ARG_SRC, 3, 2, groups, zemm_s32},
                   {"wei", ZEMM_ARG_WEIGHTS, 3, 2, groups, zemm_s32},
                   {"dynamic scales", ZEMM_ARG_DST, 3, 2, groups, zemm_s32}});
    OK(zemm_primitive_attr_set_scales_v3(attr, ZEMM_ARG_DST, 3, 2, groups, zemm_f32, 0,
                                         zemm_quantization_mode_dynamic_fp));
    set_each(set, {{"", ZEMM_ARG_DST, 3, 2, groups, zemm_s32},
                   {"src1", ZEMM_ARG_SRC_1, 3, 2, groups, zemm_s32},
                   {"f32", ZEMM_ARG_SRC, 3, 2, groups, zemm_f32},
                   {"mask 0", ZEMM_ARG_SRC, 0, 2, groups, zemm_s32},
                   {"group_ndims 1", ZEMM_ARG_SRC, 3, 1, groups, zemm_s32},
                   {"", ZEMM_ARG_SRC, 3, 0, nullptr, zemm_s32}});
}

TEST(copies) {
    const auto list = made(zemm_post_ops_create);
    OK(zemm_post_ops_append_eltwise(list, zemm_eltwise_relu, 0.5f, 0.f));
    OK(zemm_primitive_attr_set_post_ops(attr, list));
    OK(zemm_post_ops_append_prelu(list, 2)); // the attribute was copied before
    const_zemm_post_ops_t kept = got(zemm_primitive_attr_get_post_ops, attr);
    CHECK(kept != list && zemm_post_ops_len(kept) == 1);
    const auto copy = made(zemm_primitive_attr_clone, attr);
    OK(zemm_primitive_attr_set_accumulation_mode(attr, zemm_accumulation_mode_strict));
    OK(zemm_primitive_attr_set_post_ops(attr, list));
    CHECK(got(zemm_primitive_attr_get_accumulation_mode, copy) == zemm_accumulation_mode_f16);
    CHECK(zemm_post_ops_len(got(zemm_primitive_attr_get_post_ops, copy)) == 1);
    OK(zemm_primitive_attr_destroy(nullptr));
}
