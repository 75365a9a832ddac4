// SPDX-License-Identifier: Apache-2.0
#include "ggml/primitives.hpp"

#include <algorithm>
#include <vector>

namespace zemm_ggml {

namespace {

constexpr int every = 3;               // dimension of a matrix
constexpr zemm_dim_t most_group = 128; // elements of src that share a scale

owned_md descriptor_of(std::initializer_list<zemm_dim_t> dims, zemm_data_type_t type,
                       const std::vector<zemm_dim_t> &strides) {
    return created<owned_md>([&](zemm_memory_desc_t *md) {
        return zemm_memory_desc_create_with_strides(md, int(dims.size()), std::data(dims), type,
                                                    strides.data());
    });
}

owned_primitive primitive_of(const owned_pd &pd) {
    return created<owned_primitive>(
        [&](zemm_primitive_t *made) { return zemm_primitive_create(made, pd.get()); });
}

owned_attr no_attributes() {
    return created<owned_attr>([](zemm_primitive_attr_t *attr) { return zemm_primitive_attr_create(attr); });
}

owned_primitive make_quantize(zemm_engine_t engine, zemm_dim_t k, zemm_dim_t group, zemm_dim_t sums_group) {
    const owned_md src = strided({ZEMM_RUNTIME_DIM_VAL, k}, zemm_f32, {ZEMM_RUNTIME_DIM_VAL, 1});
    const owned_md dst = dense({ZEMM_RUNTIME_DIM_VAL, k}, zemm_s8);
    const owned_attr attr = no_attributes();
    const zemm_dims_t groups = {1, group}, of_sums = {1, sums_group};
    check(zemm_primitive_attr_set_scales_v3(attr.get(), ZEMM_ARG_DST, every, 2, groups, zemm_f32, 0,
                                            zemm_quantization_mode_dynamic_fp));
    if (sums_group)
        check(zemm_primitive_attr_set_precomputed_reductions(attr.get(), ZEMM_ARG_DST, every, 2, of_sums,
                                                             zemm_s32));
    return primitive_of(created<owned_pd>([&](zemm_primitive_desc_t *pd) {
        return zemm_reorder_primitive_desc_create(pd, src.get(), engine, dst.get(), engine, attr.get());
    }));
}

} // namespace

owned_md dense(std::initializer_list<zemm_dim_t> dims, zemm_data_type_t type) {
    std::vector<zemm_dim_t> strides(dims.size(), 1);
    for (size_t i = dims.size() - 1; i > 0; --i)
        strides[i - 1] = strides[i] * std::data(dims)[i];
    return descriptor_of(dims, type, strides);
}

owned_md strided(std::initializer_list<zemm_dim_t> dims, zemm_data_type_t type,
                 std::initializer_list<zemm_dim_t> strides) {
    return descriptor_of(dims, type, strides);
}

owned_memory memory_of(const_zemm_memory_desc_t md, zemm_engine_t engine, void *handle) {
    return created<owned_memory>(
        [&](zemm_memory_t *made) { return zemm_memory_create(made, md, engine, handle); });
}

primitives::primitives(zemm_engine_t engine, const shape &s)
    : shape_(s), src_group_(std::min<zemm_dim_t>(s.form->group, most_group)),
      sums_group_(s.form->has_offsets ? src_group_ : 0),
      quantize_(make_quantize(engine, s.k, src_group_, sums_group_)) {
    const zemm_dims_t dims = {s.k, s.n};
    const owned_md any = created<owned_md>([&](zemm_memory_desc_t *md) {
        return zemm_memory_desc_create_with_tag(md, 2, dims, s.form->codes, zemm_format_tag_any);
    });
    const owned_md src = dense({ZEMM_RUNTIME_DIM_VAL, s.k}, zemm_s8);
    const owned_md dst = strided({ZEMM_RUNTIME_DIM_VAL, s.n}, zemm_f32, {ZEMM_RUNTIME_DIM_VAL, 1});
    const owned_attr attr = attributes();
    const auto matmul = created<owned_pd>([&](zemm_primitive_desc_t *pd) {
        return zemm_matmul_primitive_desc_create(pd, engine, src.get(), any.get(), nullptr, dst.get(),
                                                 attr.get());
    });
    matmul_ = primitive_of(matmul);
    packed_ = created<owned_md>([&](zemm_memory_desc_t *md) {
        return zemm_memory_desc_clone(md,
                                      zemm_primitive_desc_query_md(matmul.get(), zemm_query_weights_md, 0));
    });
    pack_ = primitive_of(created<owned_pd>([&](zemm_primitive_desc_t *pd) {
        return zemm_reorder_primitive_desc_create(pd, plain().get(), engine, packed_.get(), engine, nullptr);
    }));
}

owned_attr primitives::attributes() const {
    owned_attr attr = no_attributes();
    const zemm_dims_t of_src = {1, src_group_}, groups = {shape_.form->group, 1}, of_sums = {1, sums_group_};
    check(zemm_primitive_attr_set_scales(attr.get(), ZEMM_ARG_SRC, every, 2, of_src, zemm_f32));
    check(
        zemm_primitive_attr_set_scales(attr.get(), ZEMM_ARG_WEIGHTS, every, 2, groups, shape_.form->scales));
    if (!sums_group_)
        return attr;
    check(
        zemm_primitive_attr_set_offsets(attr.get(), ZEMM_ARG_WEIGHTS, every, 2, groups, shape_.form->scales));
    check(zemm_primitive_attr_set_precomputed_reductions(attr.get(), ZEMM_ARG_SRC, every, 2, of_sums,
                                                         zemm_s32));
    return attr;
}

owned_md primitives::plain() const {
    return strided({shape_.k, shape_.n}, shape_.form->codes, {1, shape_.k});
}

owned_md primitives::parameters() const {
    return dense({shape_.k / shape_.form->group, shape_.n}, shape_.form->scales);
}

} // namespace zemm_ggml
