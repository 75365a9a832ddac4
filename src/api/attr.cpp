// SPDX-License-Identifier: Apache-2.0
// Entry points of primitive attributes and of lists of post-ops. Those of regular attributes are made from
// lists/attributes.def.
#include "common/attr.hpp"
#include "common/guard.hpp"
#include "zemm/zemm.h"

using namespace zemm;

namespace {

// Runs body(*attr) as an entry point; invalid_arguments if attr is NULL.
template <typename A, typename F> zemm_status_t with(A *attr, F &&body) {
    return guard([&] {
        require(attr, "attr");
        body(*attr);
    });
}

template <typename T> void put(T *out, const char *name, T value) {
    require(out, name);
    *out = value;
}

template <typename T> void put_if(T *out, T value) {
    if (out)
        *out = value;
}

zemm_status_t append_to(zemm_post_ops_t post_ops, const post_op &entry) {
    return guard([&] {
        require(post_ops, "post_ops");
        append(*post_ops, entry);
    });
}

// Runs body(entry) with the post-op at index as an entry point; invalid_arguments if it is of
// another kind.
template <typename F>
zemm_status_t with_entry(const_zemm_post_ops_t post_ops, int index, zemm_primitive_kind_t kind, F &&body) {
    return guard([&] {
        require(post_ops, "post_ops");
        body(post_op_at(*post_ops, index, kind));
    });
}

} // namespace

zemm_status_t zemm_primitive_attr_create(zemm_primitive_attr_t *attr) {
    return guard([&] {
        require(attr, "attr");
        *attr = new zemm_primitive_attr();
    });
}

zemm_status_t zemm_primitive_attr_clone(zemm_primitive_attr_t *attr, const_zemm_primitive_attr_t existing) {
    return guard([&] {
        REQUIRE(attr, existing);
        *attr = new zemm_primitive_attr(*existing);
    });
}

zemm_status_t zemm_primitive_attr_destroy(zemm_primitive_attr_t attr) {
    delete attr;
    return zemm_success;
}

#define ACCESSORS(name, type, parameter, value, set)                                                         \
    zemm_status_t zemm_primitive_attr_get_##name(const_zemm_primitive_attr_t attr, type *parameter) {        \
        return with(attr, [&](auto &a) { put(parameter, #parameter, value(a.name)); });                      \
    }                                                                                                        \
    zemm_status_t zemm_primitive_attr_set_##name(zemm_primitive_attr_t attr, type parameter) {               \
        return with(attr, [&](auto &a) { set; });                                                            \
    }
#define ZEMM_FLAG_ATTRIBUTE(name, ...) ACCESSORS(name, int, value, int, a.name = value != 0)
#define ZEMM_MODE_ATTRIBUTE(name, ...) ACCESSORS(name, zemm_##name##_t, mode, , set_##name(a, mode))
#define ZEMM_SIZE_ATTRIBUTE(name, parameter, ...)                                                            \
    ACCESSORS(name, zemm_dim_t, parameter, , set_##name(a, parameter))
#define ZEMM_TENSOR_ATTRIBUTE(name, ...)                                                                     \
    zemm_status_t zemm_primitive_attr_set_##name(zemm_primitive_attr_t attr, int arg, int mask,              \
                                                 int group_ndims, const zemm_dims_t group_dims,              \
                                                 zemm_data_type_t data_type) {                               \
        return with(attr, [&](auto &a) { set_##name(a, {arg, mask, group_ndims, group_dims, data_type}); }); \
    }
#include "lists/attributes.def"
#undef ACCESSORS

zemm_status_t zemm_primitive_attr_get_fpmath_mode(const_zemm_primitive_attr_t attr,
                                                  zemm_fpmath_mode_t *mode) {
    return with(attr, [&](auto &a) { put(mode, "mode", a.fpmath_mode.mode); });
}

zemm_status_t zemm_primitive_attr_set_fpmath_mode(zemm_primitive_attr_t attr, zemm_fpmath_mode_t mode) {
    return with(attr, [&](auto &a) { set_fpmath_mode(a, mode, false); });
}

zemm_status_t zemm_primitive_attr_get_fpmath_mode_v2(const_zemm_primitive_attr_t attr,
                                                     zemm_fpmath_mode_t *mode, int *apply_to_int) {
    return with(attr, [&](auto &a) {
        put_if(mode, a.fpmath_mode.mode);
        put_if(apply_to_int, int(a.fpmath_mode.apply_to_int));
    });
}

zemm_status_t zemm_primitive_attr_set_fpmath_mode_v2(zemm_primitive_attr_t attr, zemm_fpmath_mode_t mode,
                                                     int apply_to_int) {
    return with(attr, [&](auto &a) { set_fpmath_mode(a, mode, apply_to_int != 0); });
}

zemm_status_t zemm_primitive_attr_get_rounding(zemm_primitive_attr_t attr, int arg,
                                               zemm_rounding_mode_t *mode) {
    return with(attr, [&](auto &a) { put(mode, "mode", get_rounding(a, arg)); });
}

zemm_status_t zemm_primitive_attr_set_rounding(zemm_primitive_attr_t attr, int arg,
                                               zemm_rounding_mode_t mode) {
    return with(attr, [&](auto &a) { set_rounding(a, arg, mode); });
}

zemm_status_t zemm_primitive_attr_get_dropout(const_zemm_primitive_attr_t attr,
                                              const_zemm_memory_desc_t *mask_desc) {
    return with(attr,
                [&](auto &a) { put<const_zemm_memory_desc_t>(mask_desc, "mask_desc", &a.dropout.mask); });
}

zemm_status_t zemm_primitive_attr_set_dropout(zemm_primitive_attr_t attr,
                                              const_zemm_memory_desc_t mask_desc) {
    return with(attr, [&](auto &a) { set_dropout(a, mask_desc, zemm_s32, false, false); });
}

zemm_status_t zemm_primitive_attr_get_dropout_v2(const_zemm_primitive_attr_t attr,
                                                 const_zemm_memory_desc_t *mask_desc,
                                                 zemm_data_type_t *seed_dt, int *use_offset,
                                                 int *use_host_scalars) {
    return with(attr, [&](auto &a) {
        put_if<const_zemm_memory_desc_t>(mask_desc, &a.dropout.mask);
        put_if(seed_dt, a.dropout.seed_dt);
        put_if(use_offset, int(a.dropout.use_offset));
        put_if(use_host_scalars, int(a.dropout.use_host_scalars));
    });
}

zemm_status_t zemm_primitive_attr_set_dropout_v2(zemm_primitive_attr_t attr,
                                                 const_zemm_memory_desc_t mask_desc, zemm_data_type_t seed_dt,
                                                 int use_offset, int use_host_scalars) {
    return with(attr,
                [&](auto &a) { set_dropout(a, mask_desc, seed_dt, use_offset != 0, use_host_scalars != 0); });
}

zemm_status_t zemm_primitive_attr_set_scales_mask(zemm_primitive_attr_t attr, int arg, int mask) {
    return zemm_primitive_attr_set_scales(attr, arg, mask, 0, nullptr, zemm_f32);
}

zemm_status_t zemm_primitive_attr_set_scales_v2(zemm_primitive_attr_t attr, int arg, int mask,
                                                int group_ndims, const zemm_dims_t group_dims,
                                                zemm_data_type_t data_type, int is_on_host) {
    return zemm_primitive_attr_set_scales_v3(attr, arg, mask, group_ndims, group_dims, data_type, is_on_host,
                                             zemm_quantization_mode_static_sazp);
}

zemm_status_t zemm_primitive_attr_set_scales_v3(zemm_primitive_attr_t attr, int arg, int mask,
                                                int group_ndims, const zemm_dims_t group_dims,
                                                zemm_data_type_t data_type, int is_on_host,
                                                zemm_quantization_mode_t qmode) {
    return with(attr, [&](auto &a) {
        set_scales(a, {arg, mask, group_ndims, group_dims, data_type, is_on_host != 0, qmode});
    });
}

zemm_status_t zemm_primitive_attr_set_zero_points_mask(zemm_primitive_attr_t attr, int arg, int mask) {
    return zemm_primitive_attr_set_zero_points(attr, arg, mask, 0, nullptr, zemm_s32);
}

zemm_status_t zemm_primitive_attr_set_zero_points_v2(zemm_primitive_attr_t attr, int arg, int mask,
                                                     int group_ndims, const zemm_dims_t group_dims,
                                                     zemm_data_type_t data_type, int is_on_host) {
    return with(attr, [&](auto &a) {
        set_zero_points(a, {arg, mask, group_ndims, group_dims, data_type, is_on_host != 0});
    });
}

zemm_status_t zemm_primitive_attr_get_reduced_range(const_zemm_primitive_attr_t attr, int arg, int *value) {
    return with(attr, [&](auto &a) { put(value, "value", int(a.reduced_range.contains(arg))); });
}

zemm_status_t zemm_primitive_attr_set_reduced_range(zemm_primitive_attr_t attr, int arg, int value) {
    return with(attr, [&](auto &a) { set_reduced_range(a, arg, value != 0); });
}

zemm_status_t zemm_primitive_attr_get_post_ops(const_zemm_primitive_attr_t attr,
                                               const_zemm_post_ops_t *post_ops) {
    return with(attr, [&](auto &a) { put<const_zemm_post_ops_t>(post_ops, "post_ops", &a.post_ops); });
}

zemm_status_t zemm_primitive_attr_set_post_ops(zemm_primitive_attr_t attr, const_zemm_post_ops_t post_ops) {
    return with(attr, [&](auto &a) {
        require(post_ops, "post_ops");
        a.post_ops = *post_ops;
    });
}

zemm_status_t zemm_post_ops_create(zemm_post_ops_t *post_ops) {
    return guard([&] {
        require(post_ops, "post_ops");
        *post_ops = new zemm_post_ops();
    });
}

zemm_status_t zemm_post_ops_clone(zemm_post_ops_t *post_ops, const_zemm_post_ops_t existing) {
    return guard([&] {
        REQUIRE(post_ops, existing);
        *post_ops = new zemm_post_ops(*existing);
    });
}

zemm_status_t zemm_post_ops_destroy(zemm_post_ops_t post_ops) {
    delete post_ops;
    return zemm_success;
}

int zemm_post_ops_len(const_zemm_post_ops_t post_ops) {
    return post_ops ? int(post_ops->entries.size()) : 0;
}

zemm_primitive_kind_t zemm_post_ops_get_kind(const_zemm_post_ops_t post_ops, int index) {
    if (index < 0 || index >= zemm_post_ops_len(post_ops))
        return zemm_undefined_primitive;
    return post_ops->entries[size_t(index)].kind;
}

zemm_status_t zemm_post_ops_append_sum(zemm_post_ops_t post_ops, float scale, int32_t zero_point,
                                       zemm_data_type_t data_type) {
    return append_to(post_ops,
                     {.kind = zemm_sum, .alpha = scale, .zero_point = zero_point, .data_type = data_type});
}

zemm_status_t zemm_post_ops_get_params_sum(const_zemm_post_ops_t post_ops, int index, float *scale,
                                           int32_t *zero_point, zemm_data_type_t *data_type) {
    return with_entry(post_ops, index, zemm_sum, [&](const post_op &p) {
        put_if(scale, p.alpha);
        put_if(zero_point, p.zero_point);
        put_if(data_type, p.data_type);
    });
}

zemm_status_t zemm_post_ops_append_eltwise(zemm_post_ops_t post_ops, zemm_alg_kind_t alg, float alpha,
                                           float beta) {
    return append_to(post_ops, {.kind = zemm_eltwise, .alg = alg, .alpha = alpha, .beta = beta});
}

zemm_status_t zemm_post_ops_get_params_eltwise(const_zemm_post_ops_t post_ops, int index,
                                               zemm_alg_kind_t *alg, float *alpha, float *beta) {
    return with_entry(post_ops, index, zemm_eltwise, [&](const post_op &p) {
        put_if(alg, p.alg);
        put_if(alpha, p.alpha);
        put_if(beta, p.beta);
    });
}

// oneDNN fuses a depthwise convolution into a convolution only. A list of zemm never has one.
zemm_status_t zemm_post_ops_append_dw(zemm_post_ops_t post_ops, zemm_data_type_t, zemm_data_type_t,
                                      zemm_data_type_t, zemm_dim_t, zemm_dim_t, zemm_dim_t) {
    return guard([&] {
        require(post_ops, "post_ops");
        fail(zemm_unimplemented,
             "zemm_post_ops_append_dw: a depthwise convolution follows a convolution, and zemm has none: "
             "leave it out of the list and run it after the primitive");
    });
}

zemm_status_t zemm_post_ops_get_params_dw(const_zemm_post_ops_t post_ops, int index, zemm_data_type_t *,
                                          zemm_data_type_t *, zemm_data_type_t *, zemm_dim_t *, zemm_dim_t *,
                                          zemm_dim_t *) {
    return with_entry(post_ops, index, zemm_convolution, [](const post_op &) {});
}

zemm_status_t zemm_post_ops_append_binary(zemm_post_ops_t post_ops, zemm_alg_kind_t alg,
                                          const_zemm_memory_desc_t src1_desc) {
    return zemm_post_ops_append_binary_v2(post_ops, alg, src1_desc, nullptr);
}

zemm_status_t zemm_post_ops_get_params_binary(const_zemm_post_ops_t post_ops, int index, zemm_alg_kind_t *alg,
                                              const_zemm_memory_desc_t *src1_desc) {
    return zemm_post_ops_get_params_binary_v2(post_ops, index, alg, src1_desc, nullptr);
}

zemm_status_t zemm_post_ops_append_binary_v2(zemm_post_ops_t post_ops, zemm_alg_kind_t alg,
                                             const_zemm_memory_desc_t src1_desc,
                                             const_zemm_memory_desc_t src2_desc) {
    return guard([&] {
        REQUIRE(post_ops, src1_desc);
        const memory_desc src2 = src2_desc ? *src2_desc : memory_desc();
        append(*post_ops, {.kind = zemm_binary, .alg = alg, .src1 = *src1_desc, .src2 = src2});
    });
}

zemm_status_t zemm_post_ops_get_params_binary_v2(const_zemm_post_ops_t post_ops, int index,
                                                 zemm_alg_kind_t *alg, const_zemm_memory_desc_t *src1_desc,
                                                 const_zemm_memory_desc_t *src2_desc) {
    return with_entry(post_ops, index, zemm_binary, [&](const post_op &p) {
        put_if(alg, p.alg);
        put_if<const_zemm_memory_desc_t>(src1_desc, &p.src1);
        put_if<const_zemm_memory_desc_t>(src2_desc, &p.src2);
    });
}

zemm_status_t zemm_post_ops_append_prelu(zemm_post_ops_t post_ops, int mask) {
    return append_to(post_ops, {.kind = zemm_prelu, .mask = mask});
}

zemm_status_t zemm_post_ops_get_params_prelu(const_zemm_post_ops_t post_ops, int index, int *mask) {
    return with_entry(post_ops, index, zemm_prelu, [&](const post_op &p) { put_if(mask, p.mask); });
}
