// SPDX-License-Identifier: Apache-2.0
// The text of descriptors and attributes in the log, the cache keys, and the callback of the cache
// capacity. Linked with libzemm's objects, because these are internal.
#include <set>
#include <string>

#include "check.h"
#include "common/attr.hpp"
#include "common/error.hpp"
#include "common/md_ops.hpp"
#include "primitive/primitive_cache.hpp"
#include "same.hpp"
#include "test_case.hpp"

using namespace zemm;

namespace {

constexpr zemm_dim_t runtime = ZEMM_RUNTIME_DIM_VAL;

template <typename F> zemm_status_t status_of(F body) {
    try {
        body();
    } catch (const error &e) {
        return e.status();
    }
    return zemm_success;
}

memory_desc md(std::initializer_list<zemm_dim_t> dims, zemm_data_type_t dt, const char *tag) {
    return md_with_string_tag(int(dims.size()), dims.begin(), dt, tag);
}

TEST(descriptors) {
    SAME(md_text("src", md({3, 5}, zemm_f32, "ab")), "src:f32::blocked:ab::f0");
    SAME(md_text("wei", md({3, 5}, zemm_s8, "ba"), true), "wei:s8:a:blocked:ba::f0");
    SAME(md_text("dst", md({3, 5}, zemm_f32, "any")), "dst:f32:a:any:::f0");
    SAME(md_text("bia", {}), "bia:undef::undef:::");
    SAME(md_text("wei", md({20, 30}, zemm_s8, "BA16a64b4a")), "wei:s8:p:blocked:BA16a64b4a::f0");
    SAME(md_text("src", md({runtime, 5}, zemm_f32, "ab")), "src:f32::blocked:ab::f0");
    const zemm_dim_t dims[] = {3, 5}, strides[] = {8, 1}, part[] = {2, 3}, offsets[] = {1, 1};
    const memory_desc gaps = md_with_strides(2, dims, zemm_f16, strides);
    SAME(md_text("src", gaps), "src:f16::blocked:ab:8x1:f0");
    SAME(md_text("src", md_submemory(gaps, part, offsets)), "src:f16:0:blocked:ab:8x1:f0");
    SAME(md_text("src", md_csr(2, dims, zemm_f16, 4, zemm_s32, zemm_s32)), "src:f16::sparse:csr:f0");
    SAME(md_text("src", md_grouped(2, dims, zemm_f32, 0, 4, zemm_s32)), "src:f32::sparse:grouped:0:4:f0");
    SAME(dims_text(md({2, runtime, 4}, zemm_f32, "abc")), "2x*x4");
    SAME(tag_text(md({2, 3, 4, 5, 6}, zemm_f32, "cabde")), "cabde");
    SAME(tag_text(md({2, 20, 30}, zemm_f32, "aCB16b32c4b")), "aCB16b32c4b");
    SAME(tag_text(md_host_scalar(zemm_f32)), "*");
}

TEST(attributes) {
    zemm_primitive_attr a;
    SAME(attr_text(a), "");
    const zemm_dim_t src_groups[] = {1, 128}, wei_groups[] = {32, 1};
    set_scales(a, {ZEMM_ARG_WEIGHTS, 2, 0, nullptr, zemm_f16});
    set_scales(a, {ZEMM_ARG_SRC, 3, 2, src_groups, zemm_f16});
    SAME(attr_text(a), "attr-scales:src0:3:f16:1x128+wei:2:f16");
    set_zero_points(a, {ZEMM_ARG_WEIGHTS, 3, 2, wei_groups, zemm_u4});
    set_zero_points(a, {ZEMM_ARG_DST, 0, 0, nullptr, zemm_s32, true});
    set_precomputed_reductions(a, {ZEMM_ARG_SRC, 3, 2, src_groups, zemm_s32});
    SAME(attr_text(a), "attr-scales:src0:3:f16:1x128+wei:2:f16 "
                       "attr-zero-points:dst:0:s32:host_scalar+wei:3:u4:32x1 "
                       "attr-precomputed-reductions:src0:3:s32:1x128");
    a = {};
    set_offsets(a, {ZEMM_ARG_WEIGHTS, 3, 2, wei_groups, zemm_bf16});
    SAME(attr_text(a), "attr-offsets:wei:3:bf16:32x1");
    SAME(arg_text(ZEMM_ARG_ATTR_OFFSETS | ZEMM_ARG_WEIGHTS), "attr_offsets_wei");
    a = {};
    set_scale_factors(a, {ZEMM_ARG_WEIGHTS, 2, 0, nullptr, zemm_f16});
    set_scales(a, {ZEMM_ARG_WEIGHTS, 3, 2, wei_groups, zemm_u8});
    set_offset_factors(a, {ZEMM_ARG_WEIGHTS, 0, 0, nullptr, zemm_f32});
    SAME(attr_text(a),
         "attr-scale-factors:wei:2:f16 attr-scales:wei:3:u8:32x1 attr-offset-factors:wei:0:f32");
    SAME(arg_text(ZEMM_ARG_ATTR_SCALE_FACTORS | ZEMM_ARG_WEIGHTS), "attr_scale_factors_wei");
    SAME(arg_text(ZEMM_ARG_ATTR_OFFSET_FACTORS | ZEMM_ARG_WEIGHTS), "attr_offset_factors_wei");
    a = {};
    set_scratchpad_mode(a, zemm_scratchpad_mode_user);
    set_fpmath_mode(a, zemm_fpmath_mode_bf16, true);
    set_accumulation_mode(a, zemm_accumulation_mode_f16);
    set_rounding(a, ZEMM_ARG_DST, zemm_rounding_mode_stochastic);
    a.deterministic = a.saturation = true;
    SAME(attr_text(a), "attr-scratchpad:user attr-fpmath:bf16:true attr-acc-mode:f16 "
                       "attr-rounding-mode:dst:stochastic attr-deterministic:1 attr-saturation:1");
    a = {};
    set_reduced_range(a, ZEMM_ARG_DST, true);
    set_reduced_range(a, ZEMM_ARG_SRC, true);
    SAME(attr_text(a), "attr-reduced-range:src0+dst");
    a = {};
    set_src_dyn_quant_params(a, 128);
    SAME(attr_text(a), "attr-src-dyn-quant:128");
    a = {};
    const memory_desc mask = md({3, 5}, zemm_u8, "ab");
    set_dropout(a, &mask, zemm_s64, true, false);
    SAME(attr_text(a), "attr-dropout:ab:s64:1:0");
    set_dropout(a, nullptr, zemm_s32, false, true);
    SAME(attr_text(a), "attr-dropout:undef:s32:0:1");
}

TEST(post_op_lists) {
    zemm_primitive_attr a;
    const memory_desc row = md({1, 5}, zemm_f32, "ab"), full = md({3, 5}, zemm_s8, "ba");
    append(a.post_ops, {.kind = zemm_sum, .alpha = 1.f});
    append(a.post_ops, {.kind = zemm_sum, .alpha = 0.5f});
    append(a.post_ops, {.kind = zemm_sum, .alpha = 2.f, .zero_point = 3, .data_type = zemm_u8});
    SAME(attr_text(a), "attr-post-ops:sum+sum:0.5+sum:2:3:u8");
    a = {};
    append(a.post_ops, {.kind = zemm_eltwise, .alg = zemm_eltwise_relu});
    append(a.post_ops, {.kind = zemm_eltwise, .alg = zemm_eltwise_swish, .alpha = 0.1f});
    append(a.post_ops, {.kind = zemm_eltwise, .alg = zemm_eltwise_linear, .beta = 2.f});
    append(a.post_ops, {.kind = zemm_prelu, .mask = 2});
    SAME(attr_text(a), "attr-post-ops:eltwise_relu+eltwise_swish:0.1+eltwise_linear:0:2+prelu:2");
    a = {};
    append(a.post_ops, {.kind = zemm_binary, .alg = zemm_binary_add, .src1 = row});
    append(a.post_ops, {.kind = zemm_binary, .alg = zemm_binary_mul, .src1 = full});
    append(a.post_ops, {.kind = zemm_binary, .alg = zemm_binary_select, .src1 = row, .src2 = full});
    SAME(attr_text(a), "attr-post-ops:binary_add:f32:2+binary_mul:s8:3:ba+binary_select:f32.2:3.ba");
}

TEST(format_any) {
    memory_desc a = md({2, 3, 4}, zemm_f32, "any");
    md_resolve_any(a);
    CHECK(md_equal(a, md({2, 3, 4}, zemm_f32, "abc")));
    memory_desc odd = md({2, 3}, zemm_s4, "any");
    CHECK(status_of([&] { md_resolve_any(odd); }) == zemm_unimplemented);
    SAME(tag_text(odd), "any");
}

// Attributes that differ in one setting have different keys. Equal attributes have equal keys.
TEST(keys) {
    const zemm_dim_t groups[] = {1, 32};
    const memory_desc row = md({1, 5}, zemm_f32, "ab"), column = md({3, 1}, zemm_f32, "ab");
    std::set<std::string> seen;
    size_t count = 0;
    const auto add = [&](auto &&edit) {
        zemm_primitive_attr a, b;
        edit(a), edit(b);
        SAME(attr_key(a), attr_key(b));
        seen.insert(attr_key(a));
        count++;
    };
    add([](auto &) {});
    add([](auto &a) { a.deterministic = true; });
    add([](auto &a) { a.saturation = true; });
    add([](auto &a) { set_fpmath_mode(a, zemm_fpmath_mode_bf16, false); });
    add([](auto &a) { set_fpmath_mode(a, zemm_fpmath_mode_bf16, true); });
    add([](auto &a) { set_accumulation_mode(a, zemm_accumulation_mode_any); });
    add([](auto &a) { set_scratchpad_mode(a, zemm_scratchpad_mode_user); });
    add([](auto &a) { set_rounding(a, ZEMM_ARG_DST, zemm_rounding_mode_stochastic); });
    add([](auto &a) { set_reduced_range(a, ZEMM_ARG_SRC, true); });
    add([](auto &a) { set_reduced_range(a, ZEMM_ARG_DST, true); });
    add([](auto &a) { set_src_dyn_quant_params(a, 32); });
    add([](auto &a) { set_src_dyn_quant_params(a, 64); });
    add([](auto &a) { set_dropout(a, nullptr, zemm_s32, false, false); });
    add([](auto &a) { set_dropout(a, nullptr, zemm_s64, false, false); });
    add([](auto &a) { set_scales(a, {ZEMM_ARG_SRC, 0, 0, nullptr, zemm_f32}); });
    add([](auto &a) { set_scales(a, {ZEMM_ARG_DST, 0, 0, nullptr, zemm_f32}); });
    add([](auto &a) { set_scales(a, {ZEMM_ARG_SRC, 0, 0, nullptr, zemm_f32, true}); });
    add([](auto &a) { set_zero_points(a, {ZEMM_ARG_SRC, 0, 0, nullptr, zemm_s32}); });
    add([&](auto &a) { set_scales(a, {ZEMM_ARG_SRC, 3, 2, groups, zemm_f32}); });
    add([&](auto &a) { set_zero_points(a, {ZEMM_ARG_WEIGHTS, 3, 2, groups, zemm_f32}); });
    add([&](auto &a) { set_offsets(a, {ZEMM_ARG_WEIGHTS, 3, 2, groups, zemm_f32}); });
    add([&](auto &a) { set_offsets(a, {ZEMM_ARG_WEIGHTS, 3, 2, groups, zemm_f16}); });
    add([&](auto &a) { set_offsets(a, {ZEMM_ARG_WEIGHTS, 3, 0, nullptr, zemm_f16}); });
    add([&](auto &a) { set_scale_factors(a, {ZEMM_ARG_WEIGHTS, 3, 2, groups, zemm_f16}); });
    add([&](auto &a) { set_scale_factors(a, {ZEMM_ARG_WEIGHTS, 3, 2, groups, zemm_f32}); });
    add([&](auto &a) { set_offset_factors(a, {ZEMM_ARG_WEIGHTS, 3, 2, groups, zemm_f16}); });
    add([&](auto &a) { set_precomputed_reductions(a, {ZEMM_ARG_SRC, 3, 2, groups, zemm_s32}); });
    add([&](auto &a) { append(a.post_ops, {.kind = zemm_binary, .alg = zemm_binary_add, .src1 = row}); });
    add([&](auto &a) { append(a.post_ops, {.kind = zemm_binary, .alg = zemm_binary_add, .src1 = column}); });
    add([](auto &a) { append(a.post_ops, {.kind = zemm_prelu, .mask = 1}); });
    add([](auto &a) { append(a.post_ops, {.kind = zemm_prelu, .mask = 2}); });
    CHECK(seen.size() == count);
}

int heard = -1;

TEST(capacity) {
    on_cache_capacity_change([](int value) { heard = value; });
    set_primitive_cache_capacity(12);
    CHECK(heard == 12);
    CHECK(status_of([] { set_primitive_cache_capacity(-1); }) == zemm_invalid_arguments);
    SAME(std::to_string(primitive_cache_capacity()) + " " + std::to_string(heard), "12 12");
    on_cache_capacity_change(nullptr);
}

} // namespace
