// SPDX-License-Identifier: Apache-2.0
// Entry points of lists of post-ops.
#include "common/attr_ops.hpp"
#include "common/error.hpp"
#include "zemm/zemm.h"

using namespace zemm;

namespace {

template <typename T> void put_if(T *out, T value) {
    if (out)
        *out = value;
}

template <typename F> zemm_status_t with_list(zemm_post_ops_t post_ops, F &&body) {
    return guard([&] {
        require(post_ops, "post_ops");
        body(*post_ops);
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

zemm_status_t zemm_post_ops_create(zemm_post_ops_t *post_ops) {
    return guard([&] {
        require(post_ops, "post_ops");
        *post_ops = new zemm_post_ops();
    });
}

zemm_status_t zemm_post_ops_clone(zemm_post_ops_t *post_ops, const_zemm_post_ops_t existing) {
    return guard([&] {
        require(post_ops, "post_ops");
        require(existing, "existing");
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
    return with_list(post_ops, [&](auto &list) { append_sum(list, scale, zero_point, data_type); });
}

zemm_status_t zemm_post_ops_get_params_sum(const_zemm_post_ops_t post_ops, int index, float *scale,
                                           int32_t *zero_point, zemm_data_type_t *data_type) {
    return with_entry(post_ops, index, zemm_sum, [&](const post_op &p) {
        put_if(scale, p.scale);
        put_if(zero_point, p.zero_point);
        put_if(data_type, p.data_type);
    });
}

zemm_status_t zemm_post_ops_append_eltwise(zemm_post_ops_t post_ops, zemm_alg_kind_t alg, float alpha,
                                           float beta) {
    return with_list(post_ops, [&](auto &list) { append_eltwise(list, alg, alpha, beta); });
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
    return with_list(post_ops, [](auto &) {
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
    return with_list(post_ops, [&](auto &list) {
        require(src1_desc, "src1_desc");
        append_binary(list, alg, *src1_desc, src2_desc);
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
    return with_list(post_ops, [&](auto &list) { append_prelu(list, mask); });
}

zemm_status_t zemm_post_ops_get_params_prelu(const_zemm_post_ops_t post_ops, int index, int *mask) {
    return with_entry(post_ops, index, zemm_prelu, [&](const post_op &p) { put_if(mask, p.mask); });
}
