// SPDX-License-Identifier: Apache-2.0
#include "reorder/dynamic_quantize.hpp"

#include <algorithm>

#include "common/error.hpp"
#include "common/names.hpp"
#include "reorder/launches.hpp"
#include "reorder/primitive_desc.hpp"

namespace zemm::reorder {

namespace {

// An output's argument, and the argument by which the reorder that computes it names that output.
struct renamed {
    int arg, of_reorder;
};
constexpr renamed outputs[] = {
    {ZEMM_ARG_DYNAMIC_SCALE, ZEMM_ARG_ATTR_SCALES | ZEMM_ARG_DST},
    {ZEMM_ARG_DYNAMIC_ZERO_POINT, ZEMM_ARG_ATTR_ZERO_POINTS | ZEMM_ARG_DST},
    {ZEMM_ARG_DYNAMIC_REDUCTIONS, ZEMM_ARG_ATTR_PRECOMPUTED_REDUCTIONS | ZEMM_ARG_DST}};

bool is_asymmetric(const dynamic_quantize_request &r) {
    return r.alg == zemm_dynamic_quantize_asymmetric;
}

bool is_given(const memory_desc *md) {
    return md && !md_is_zero(*md);
}

bool is_row_major(const memory_desc &md) {
    return md_nelems(md) == 0 || md_equal(md, md_dense(md.ndims, md.dims, md.data_type));
}

bool is_one_value(const memory_desc &md) {
    return std::all_of(md.dims, md.dims + md.ndims, [](zemm_dim_t dim) { return dim == 1; });
}

// A parameter for the whole tensor is one for its only row, if the tensor is seen as one row.
bool is_one_row(const dynamic_quantize_request &r) {
    const memory_desc &src = r.src;
    const bool has_rows =
        std::any_of(src.dims, src.dims + src.ndims - 1, [](zemm_dim_t dim) { return dim != 1; });
    return src.ndims == 1 || (is_one_value(r.scale) && has_rows);
}

memory_desc as_one_row(const char *name, const memory_desc &md) {
    if (!is_row_major(md))
        fail(zemm_unimplemented, "dynamic_quantize with one scale needs a dense row-major %s, it has %s",
             name, md_sentence(md).c_str());
    const zemm_dim_t dims[] = {1, md_nelems(md)};
    return md_dense(2, dims, md.data_type);
}

void check_parameter(const char *name, const memory_desc &md, zemm_data_type_t dt) {
    if (md.data_type != dt)
        fail(zemm_invalid_arguments, "dynamic_quantize: %s has data type %s, not %s", name,
             data_type_name(md.data_type), data_type_name(dt));
    if (!is_row_major(md))
        fail(zemm_unimplemented, "dynamic_quantize: %s must be dense and row-major, it has %s", name,
             md_sentence(md).c_str());
}

// The number of elements of a row that share a value of the parameter.
zemm_dim_t group_of(const dynamic_quantize_request &r, const char *name, const memory_desc &md) {
    const memory_desc &src = r.src;
    const int last = src.ndims - 1;
    if (md.ndims != src.ndims)
        fail(zemm_invalid_arguments, "dynamic_quantize: %s has %d dimensions, src %d", name, md.ndims,
             src.ndims);
    if (is_one_row(r) && is_one_value(md))
        return std::max<zemm_dim_t>(md_nelems(src), 1);
    if (!std::equal(src.dims, src.dims + last, md.dims)) {
        const bool per_column = md.dims[last] == src.dims[last];
        fail(per_column ? zemm_unimplemented : zemm_invalid_arguments,
             "dynamic_quantize: %s has dims %s and src %s: zemm has a value per row (the last dim is 1), per "
             "group of a row (it is the number of groups) and per tensor (all dims are 1)",
             name, dims_text(md).c_str(), dims_text(src).c_str());
    }
    if (md.dims[last] == 0 || src.dims[last] % md.dims[last] != 0)
        fail(zemm_invalid_arguments,
             "dynamic_quantize: %s has %lld groups along the last dimension, which do not divide src's %lld",
             name, (long long)md.dims[last], (long long)src.dims[last]);
    return std::max<zemm_dim_t>(src.dims[last] / md.dims[last], 1);
}

quant_entry entry_of(zemm_dim_t group, zemm_data_type_t dt, zemm_quantization_mode_t mode, int ndims) {
    return {.mask = (1 << ndims) - 1, .group_ndims = 2, .groups = {1, group}, .data_type = dt, .mode = mode};
}

// The draft allows the mode of the scratchpad; zemm also a reduced range of dst.
zemm_primitive_attr own_attr(const dynamic_quantize_request &r) {
    zemm_primitive_attr kept;
    if (!r.attr)
        return kept;
    kept.scratchpad_mode = r.attr->scratchpad_mode;
    if (r.attr->reduced_range.contains(ZEMM_ARG_DST))
        kept.reduced_range.insert(ZEMM_ARG_DST);
    zemm_primitive_attr asked = *r.attr;
    asked.fpmath_mode = kept.fpmath_mode; // of no effect here, and a process may have another default
    if (attr_key(asked) != attr_key(kept))
        fail(zemm_unimplemented,
             "dynamic_quantize takes no attributes but the scratchpad mode and a reduced range of dst");
    return kept;
}

void check_tensors_of(const dynamic_quantize_request &r) {
    for (const memory_desc *md : {&r.src, &r.dst, &r.scale, r.zero_point, r.reductions})
        if (md && md_has_runtime(*md))
            fail(zemm_unimplemented, "dynamic_quantize has no runtime dimensions: make one for each shape");
    if (r.src.ndims < 1)
        fail(zemm_invalid_arguments, "dynamic_quantize: src has no dimensions");
    if (is_given(r.zero_point) != is_asymmetric(r))
        fail(zemm_invalid_arguments,
             is_asymmetric(r) ? "dynamic_quantize_asymmetric needs a descriptor of zero points"
                              : "dynamic_quantize_symmetric has no zero points, but a descriptor of them");
    const zemm_data_type_t dt = is_asymmetric(r) ? zemm_u8 : zemm_s8;
    if (r.dst.data_type != dt)
        fail(zemm_invalid_arguments, "%s quantises to %s, dst has data type %s", alg_kind_name(r.alg),
             data_type_name(dt), data_type_name(r.dst.data_type));
    check_parameter("scale", r.scale, r.scale.data_type);
    if (is_given(r.zero_point)) {
        check_parameter("zero_point", *r.zero_point, zemm_s32);
        if (dims_text(*r.zero_point) != dims_text(r.scale))
            fail(zemm_invalid_arguments, "dynamic_quantize: zero_point has dims %s, scale %s",
                 dims_text(*r.zero_point).c_str(), dims_text(r.scale).c_str());
    }
    if (is_given(r.reductions))
        check_parameter("reductions", *r.reductions, zemm_s32);
}

// attr: what own_attr() returns.
problem problem_of(const dynamic_quantize_request &r, zemm_primitive_attr attr) {
    check_tensors_of(r);
    const zemm_dim_t group = group_of(r, "scale", r.scale);
    const bool one_row = is_one_row(r);
    const memory_desc src = one_row ? as_one_row("src", r.src) : r.src;
    const memory_desc dst = one_row ? as_one_row("dst", r.dst) : r.dst;
    attr.scales[ZEMM_ARG_DST] =
        entry_of(group, r.scale.data_type, zemm_quantization_mode_dynamic_fp, src.ndims);
    if (is_asymmetric(r)) {
        attr.zero_points[ZEMM_ARG_DST] = {.mask = (1 << src.ndims) - 1, .data_type = zemm_s32};
    }
    if (is_given(r.reductions))
        attr.precomputed_reductions[ZEMM_ARG_DST] =
            entry_of(group_of(r, "reductions", *r.reductions), zemm_s32, zemm_quantization_mode_static_sazp,
                     src.ndims);
    return make_problem(src, dst, &attr);
}

class dynamic_quantize_desc : public zemm_primitive_desc {
public:
    dynamic_quantize_desc(zemm_engine_t engine, const dynamic_quantize_request &r)
        : zemm_primitive_desc(engine), attr_(own_attr(r)), reorder_(problem_of(r, attr_), engine, engine),
          alg_(r.alg), src_(r.src), dst_(r.dst) {
        arguments[ZEMM_ARG_SRC] = {.md = src_};
        arguments[ZEMM_ARG_DST] = {.md = dst_};
        const memory_desc *const tensors[] = {&r.scale, r.zero_point, r.reductions};
        for (int i = 0; i < 3; ++i)
            if (is_given(tensors[i]))
                arguments[outputs[i].arg] = {.md = *tensors[i], .is_parameter = true, .is_result = true};
    }

    zemm_primitive_kind_t kind() const override { return zemm_dynamic_quantize; }
    const zemm_primitive_attr &attr() const override { return attr_; }
    const char *impl_name() const override { return reorder_.impl_name(); }
    bool empty() const override { return reorder_.empty(); }
    std::unique_ptr<zemm_primitive_desc> clone() const override {
        return std::make_unique<dynamic_quantize_desc>(*this);
    }
    bool next_impl() override { return reorder_.next_impl(); }
    std::vector<ze::kernel_source> sources() const override { return launches().sources(); }
    std::vector<const memory_desc *> key_tensors() const override { return {&src_, &dst_}; }
    std::string key_text() const override { return ',' + attr_key(reorder_.attr()); }

    std::unique_ptr<zemm_primitive> create(cache_result &found) const override {
        auto shared = get_sequence(*this, found, [&] { return launches(); });
        return std::make_unique<sequence_primitive>(clone(), std::move(shared), copy_launch);
    }

    const memory_desc &query_md(zemm_query_t what, int index) const override {
        if (what == zemm_query_dst_md && index >= 1 && index <= 3)
            return zemm_primitive_desc::query_md(zemm_query_exec_arg_md, outputs[index - 1].arg);
        return zemm_primitive_desc::query_md(what, index);
    }

    void query(zemm_query_t what, int index, void *result) const override {
        if (what == zemm_query_alg_kind)
            *static_cast<zemm_alg_kind_t *>(result) = alg_;
        else if (what == zemm_query_num_of_outputs_s32)
            *static_cast<int *>(result) = int(arguments.size()) - 1;
        else
            zemm_primitive_desc::query(what, index, result);
    }

    std::string log_text() const override {
        std::string tensors = md_text("src", src_) + ' ' + md_text("dst", dst_);
        constexpr const char *names[] = {"scale", "zp", "reductions"};
        for (int i = 0; i < 3; ++i)
            if (const auto found = arguments.find(outputs[i].arg); found != arguments.end())
                tensors += ' ' + md_text(names[i], found->second.md);
        return text("%s,dynamic_quantize,%s,undef,%s,%s,alg:%s,%s", engine_kind_name(engine->kind),
                    impl_name(), tensors.c_str(), attr_text(attr_).c_str(), alg_kind_name(alg_),
                    dims_text(src_).c_str());
    }

private:
    sequence launches() const {
        std::map<int, operand> places;
        for (const renamed &output : outputs)
            places[output.of_reorder] = address_of(output.arg);
        return reorder_.launches().within(places, 0);
    }

    zemm_primitive_attr attr_;
    primitive_desc reorder_;
    zemm_alg_kind_t alg_;
    memory_desc src_, dst_;
};

} // namespace

std::unique_ptr<zemm_primitive_desc> make_dynamic_quantize_desc(zemm_engine_t engine,
                                                                const dynamic_quantize_request &request) {
    if (request.alg != zemm_dynamic_quantize_symmetric && request.alg != zemm_dynamic_quantize_asymmetric)
        fail(zemm_invalid_arguments,
             "dynamic_quantize: algorithm %s is neither dynamic_quantize_symmetric nor "
             "dynamic_quantize_asymmetric",
             alg_kind_name(request.alg));
    return std::make_unique<dynamic_quantize_desc>(engine, request);
}

} // namespace zemm::reorder
