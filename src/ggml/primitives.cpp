// SPDX-License-Identifier: Apache-2.0
#include "ggml/primitives.hpp"

#include <algorithm>
#include <vector>

namespace zemm_ggml {

namespace {

constexpr int every = 3;               // dimension of a matrix
constexpr zemm_dim_t most_group = 128; // elements of src that share a scale
constexpr size_t most_grouped = 64;    // primitives for numbers of rows that are kept

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

owned_md in_groups(zemm_dim_t rows, zemm_dim_t columns, zemm_data_type_t type, zemm_dim_t count) {
    const zemm_dims_t dims = {rows, columns};
    return created<owned_md>([&](zemm_memory_desc_t *md) {
        return zemm_memory_desc_create_with_grouped_encoding(md, 2, dims, type, 0, count, zemm_s32);
    });
}

owned_memory memory_of(const_zemm_memory_desc_t md, zemm_engine_t engine, void *handle) {
    return created<owned_memory>(
        [&](zemm_memory_t *made) { return zemm_memory_create(made, md, engine, handle); });
}

primitives::primitives(zemm_engine_t engine, const shape &s)
    : engine_(engine), shape_(s), src_group_(std::min<zemm_dim_t>(s.form->group, most_group)),
      sums_group_(s.form->has_offsets ? src_group_ : 0),
      quantize_(make_quantize(engine, s.k, src_group_, sums_group_)) {
    const zemm_dims_t dims = {s.experts ? s.experts : s.k, s.experts ? s.k : s.n, s.n};
    const int ndims = s.experts ? 3 : 2;
    const owned_md any = created<owned_md>([&](zemm_memory_desc_t *md) {
        return zemm_memory_desc_create_with_tag(md, ndims, dims, s.form->codes, zemm_format_tag_any);
    });
    owned_pd pd;
    if (s.experts) {
        const zemm_dim_t likely = 64 * s.experts; // rows; the layout is chosen for them
        pd = descriptor(in_groups(likely, s.k, zemm_s8, s.experts).get(), any.get(),
                        in_groups(likely, s.n, zemm_f32, s.experts).get());
    } else {
        pd = descriptor(dense({ZEMM_RUNTIME_DIM_VAL, s.k}, zemm_s8).get(), any.get(),
                        strided({ZEMM_RUNTIME_DIM_VAL, s.n}, zemm_f32, {ZEMM_RUNTIME_DIM_VAL, 1}).get());
        matmul_ = primitive_of(pd);
    }
    packed_ = created<owned_md>([&](zemm_memory_desc_t *md) {
        return zemm_memory_desc_clone(md, zemm_primitive_desc_query_md(pd.get(), zemm_query_weights_md, 0));
    });
}

owned_attr primitives::attributes() const {
    owned_attr attr = no_attributes();
    const bool has_experts = shape_.experts != 0;
    const int of_weights = has_experts ? 7 : every;
    const zemm_dims_t of_src = {1, src_group_}, groups = {shape_.form->group, 1}, of_sums = {1, sums_group_};
    check(zemm_primitive_attr_set_scales(attr.get(), ZEMM_ARG_SRC, every, 2, of_src, zemm_f32));
    check(zemm_primitive_attr_set_scales(attr.get(), ZEMM_ARG_WEIGHTS, of_weights, 2, groups,
                                         shape_.form->scales));
    if (!sums_group_)
        return attr;
    check(zemm_primitive_attr_set_offsets(attr.get(), ZEMM_ARG_WEIGHTS, of_weights, 2, groups,
                                          shape_.form->scales));
    check(zemm_primitive_attr_set_precomputed_reductions(attr.get(), ZEMM_ARG_SRC, every, 2, of_sums,
                                                         zemm_s32));
    return attr;
}

owned_pd primitives::descriptor(const_zemm_memory_desc_t src, const_zemm_memory_desc_t weights,
                                const_zemm_memory_desc_t dst) const {
    const owned_attr attr = attributes();
    return created<owned_pd>([&](zemm_primitive_desc_t *pd) {
        return zemm_matmul_primitive_desc_create(pd, engine_, src, weights, nullptr, dst, attr.get());
    });
}

std::shared_ptr<zemm_primitive> primitives::grouped(zemm_dim_t rows) const {
    const std::lock_guard hold(lock_);
    const auto found = grouped_.find(rows);
    if (found != grouped_.end())
        return found->second;
    if (grouped_.size() >= most_grouped)
        grouped_.clear();
    const zemm_dim_t count = shape_.experts;
    owned_primitive made =
        primitive_of(descriptor(in_groups(rows, shape_.k, zemm_s8, count).get(), packed_.get(),
                                in_groups(rows, shape_.n, zemm_f32, count).get()));
    return grouped_[rows] = std::shared_ptr<zemm_primitive>(std::move(made));
}

owned_md primitives::plain() const {
    const auto &[form, experts, k, n] = shape_;
    return experts ? strided({experts, k, n}, form->codes, {k * n, 1, k})
                   : strided({k, n}, form->codes, {1, k});
}

owned_md primitives::parameters() const {
    const auto &[form, experts, k, n] = shape_;
    return experts ? dense({experts, k / form->group, n}, form->scales)
                   : dense({k / form->group, n}, form->scales);
}

std::shared_ptr<primitives> shared_primitives(zemm_engine_t engine, const shape &s) {
    static std::mutex &lock = *new std::mutex;
    static auto &kept = *new std::map<shape, std::weak_ptr<primitives>>;
    const std::lock_guard hold(lock);
    std::shared_ptr<primitives> found = kept[s].lock();
    if (!found) {
        found = std::make_shared<primitives>(engine, s);
        std::erase_if(kept, [](const auto &entry) { return entry.second.expired(); });
        kept[s] = found;
    }
    return found;
}

} // namespace zemm_ggml
