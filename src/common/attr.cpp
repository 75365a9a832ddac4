// SPDX-License-Identifier: Apache-2.0
// Attributes: setters of modes and quantisation parameters, the tensors of these parameters, and the bytes of
// a cache key. post_ops.cpp has the post-ops.
#include <algorithm>
#include <atomic>
#include <initializer_list>
#include <type_traits>

#include "common/attr.hpp"
#include "common/env.hpp"
#include "common/error.hpp"
#include "common/md_check.hpp"
#include "common/md_ops.hpp"
#include "common/memory_desc.hpp"
#include "common/names.hpp"
#include "common/verbose.hpp"

namespace zemm {

namespace {

// The mode from ZEMM_DEFAULT_FPMATH_MODE; strict if the variable is not set or names no mode.
zemm_fpmath_mode_t start_fpmath_mode() {
    const std::string wanted = env("ZEMM_DEFAULT_FPMATH_MODE");
    for (int v = 0; is_known(zemm_fpmath_mode_t(v)); v++)
        if (wanted == fpmath_mode_name(zemm_fpmath_mode_t(v)))
            return zemm_fpmath_mode_t(v);
    std::string modes;
    for (int v = 0; is_known(zemm_fpmath_mode_t(v)); v++)
        modes += text("%s%s", v ? ", " : "", fpmath_mode_name(zemm_fpmath_mode_t(v)));
    verbose::warn_of_variable("ZEMM_DEFAULT_FPMATH_MODE", "one of " + modes);
    return zemm_fpmath_mode_strict;
}

std::atomic<zemm_fpmath_mode_t> &fpmath_default() {
    static std::atomic<zemm_fpmath_mode_t> value{start_fpmath_mode()};
    return value;
}

template <typename T> void check_mode(const char *caller, T mode) {
    if (!is_known(mode))
        fail(zemm_invalid_arguments, "%s: mode %d is unknown", caller, int(mode));
}

// Whether an argument may have a rounding mode: dst, or one of oneDNN's gradients DIFF_SRC (129)
// and DIFF_WEIGHTS (161), which zemm does not have but programs written for oneDNN may name.
bool is_rounded_arg(int arg) {
    return arg == ZEMM_ARG_DST || arg == 129 || arg == 161;
}

} // namespace

zemm_fpmath_mode_t default_fpmath_mode() {
    return fpmath_default();
}

void set_default_fpmath_mode(zemm_fpmath_mode_t mode) {
    check_mode("zemm_set_default_fpmath_mode", mode);
    fpmath_default() = mode;
}

void set_fpmath_mode(zemm_primitive_attr &attr, zemm_fpmath_mode_t mode, bool apply_to_int) {
    check_mode("zemm_primitive_attr_set_fpmath_mode", mode);
    attr.fpmath_mode = {mode, apply_to_int};
}

#define ZEMM_MODE_ATTRIBUTE(name, ...)                                                                       \
    void set_##name(zemm_primitive_attr &attr, zemm_##name##_t mode) {                                       \
        check_mode("zemm_primitive_attr_set_" #name, mode);                                                  \
        attr.name = mode;                                                                                    \
    }
#define ZEMM_SIZE_ATTRIBUTE(name, parameter, ...)                                                            \
    void set_##name(zemm_primitive_attr &attr, zemm_dim_t size) {                                            \
        if (size < 0)                                                                                        \
            fail(zemm_invalid_arguments,                                                                     \
                 "zemm_primitive_attr_set_" #name ": " #parameter                                            \
                 " is %lld: it must be the number of elements of a group, or 0",                             \
                 (long long)size);                                                                           \
        attr.name = size;                                                                                    \
    }
#include "lists/attributes.def"

void set_rounding(zemm_primitive_attr &attr, int arg, zemm_rounding_mode_t mode) {
    const char *const caller = "zemm_primitive_attr_set_rounding";
    check_mode(caller, mode);
    if (mode == zemm_rounding_mode_environment) {
        attr.rounding.erase(arg);
        return;
    }
    if (!is_rounded_arg(arg))
        fail(zemm_invalid_arguments, "%s: arg %d (%s) is no result, only dst is rounded stochastically",
             caller, arg, arg_text(arg).c_str());
    attr.rounding[arg] = mode;
}

zemm_rounding_mode_t get_rounding(const zemm_primitive_attr &attr, int arg) {
    const auto found = attr.rounding.find(arg);
    return found == attr.rounding.end() ? zemm_rounding_mode_environment : found->second;
}

void set_dropout(zemm_primitive_attr &attr, const memory_desc *mask, zemm_data_type_t seed_dt,
                 bool use_offset, bool use_host_scalars) {
    const char *const caller = "zemm_primitive_attr_set_dropout";
    const memory_desc md = mask ? *mask : memory_desc();
    check_md(caller, md);
    if (!md_is_zero(md) && md.data_type != zemm_u8)
        fail(zemm_invalid_arguments, "%s: mask_desc has data type %s, a mask is u8", caller,
             data_type_name(md.data_type));
    if (seed_dt != zemm_s32 && seed_dt != zemm_s64)
        fail(zemm_invalid_arguments, "%s: seed_dt %s is not s32 or s64", caller, data_type_name(seed_dt));
    attr.dropout = {true, md, seed_dt, use_offset, use_host_scalars};
}

namespace {

bool one_of(int value, std::initializer_list<int> list) {
    return std::find(list.begin(), list.end(), value) != list.end();
}

bool is_scaled_arg(int arg) {
    return one_of(arg,
                  {ZEMM_ARG_SRC, ZEMM_ARG_SRC_1, ZEMM_ARG_SRC_2, ZEMM_ARG_WEIGHTS, ZEMM_ARG_WEIGHTS_1,
                   ZEMM_ARG_WEIGHTS_2, ZEMM_ARG_DST, ZEMM_ARG_ATTR_POST_OP_DW | ZEMM_ARG_SRC,
                   ZEMM_ARG_ATTR_POST_OP_DW | ZEMM_ARG_WEIGHTS, ZEMM_ARG_ATTR_POST_OP_DW | ZEMM_ARG_DST}) ||
           (arg >= ZEMM_ARG_MULTIPLE_SRC && arg < ZEMM_ARG_MULTIPLE_DST);
}

// Checks mask, groups and is_on_host, whose rules are the same for all kinds of parameters.
quant_entry checked_entry(const char *caller, const quant_request &r) {
    if (r.mask < 0 || r.mask >= 1 << ZEMM_MAX_NDIMS)
        fail(zemm_invalid_arguments, "%s: mask %d is outside 0..%d", caller, r.mask,
             (1 << ZEMM_MAX_NDIMS) - 1);
    if (r.group_ndims != 0 && r.group_ndims != 2)
        fail(zemm_invalid_arguments, "%s: group_ndims %d is not 0 or 2", caller, r.group_ndims);
    if (r.group_ndims && !r.group_dims)
        fail(zemm_invalid_arguments, "%s: group_dims is NULL with group_ndims %d", caller, r.group_ndims);
    if (r.group_ndims && r.mask == 0)
        fail(zemm_invalid_arguments, "%s: groups with mask 0, which means one value for all", caller);
    if (r.is_on_host && (r.mask != 0 || r.group_ndims != 0))
        fail(zemm_invalid_arguments,
             "%s: mask %d and group_ndims %d for a value on the host, which is a single one", caller, r.mask,
             r.group_ndims);
    quant_entry e;
    e.mask = r.mask;
    e.group_ndims = r.group_ndims;
    for (int i = 0; i < r.group_ndims; i++) {
        e.groups[i] = r.group_dims[i];
        if (e.groups[i] <= 0)
            fail(zemm_invalid_arguments, "%s: group_dims[%d]=%lld is not positive", caller, i,
                 (long long)e.groups[i]);
    }
    e.data_type = r.data_type;
    e.is_on_host = r.is_on_host;
    e.mode = r.mode;
    return e;
}

[[noreturn]] void refuse_arg(const char *caller, int arg) {
    fail(zemm_invalid_arguments, "%s: arg %d (%s) takes no such parameters", caller, arg,
         arg_text(arg).c_str());
}

[[noreturn]] void refuse_type(const char *caller, zemm_data_type_t dt, const std::string &types) {
    fail(zemm_invalid_arguments, "%s: data_type %s is not one of %s", caller, data_type_name(dt),
         types.c_str());
}

// The data types that oneDNN allows for scales, in its order. The primitives refuse those that no
// kernel reads.
constexpr zemm_data_type_t scale_types[] = {zemm_f32, zemm_bf16, zemm_f16, zemm_e8m0, zemm_f8_e4m3};

// The types of offsets and of factors, and of scales and offsets that have factors.
constexpr char float_types[] = "f16, bf16, f32", scaled_types[] = "s8, u8, as factors are set for it";

std::string scale_types_text() {
    std::string names;
    for (zemm_data_type_t dt : scale_types)
        names += (names.empty() ? "" : ", ") + std::string(data_type_name(dt));
    return names;
}

void need_mask(const char *caller, const quant_request &r) {
    if (r.mask == 0)
        fail(zemm_invalid_arguments, "%s: data_type %s needs a mask, a single value cannot have it", caller,
             data_type_name(r.data_type));
}

} // namespace

const quant_entry *find_entry(const quant_map &map, int arg) {
    const auto found = map.find(arg);
    return found == map.end() ? nullptr : &found->second;
}

void set_scales(zemm_primitive_attr &attr, const quant_request &r) {
    const char *const caller = "zemm_primitive_attr_set_scales";
    if (!is_scaled_arg(r.arg))
        refuse_arg(caller, r.arg);
    if (attr.scale_factors.contains(r.arg)) {
        if (!is_int8(r.data_type))
            refuse_type(caller, r.data_type, scaled_types);
    } else if (std::ranges::find(scale_types, r.data_type) == std::end(scale_types)) {
        refuse_type(caller, r.data_type, scale_types_text());
    }
    if (!one_of(r.mode, {zemm_quantization_mode_static_sazp, zemm_quantization_mode_dynamic_mx,
                         zemm_quantization_mode_dynamic_fp}))
        fail(zemm_invalid_arguments, "%s: qmode %d is not static_sazp, dynamic_mx or dynamic_fp", caller,
             int(r.mode));
    const quant_entry e = checked_entry(caller, r);
    if (data_type_bits(r.data_type) == 8)
        need_mask(caller, r);
    attr.scales[r.arg] = e;
}

void set_zero_points(zemm_primitive_attr &attr, const quant_request &r) {
    const char *const caller = "zemm_primitive_attr_set_zero_points";
    const bool grouped_arg =
        one_of(r.arg, {ZEMM_ARG_SRC, ZEMM_ARG_WEIGHTS, ZEMM_ARG_WEIGHTS_1, ZEMM_ARG_WEIGHTS_2});
    if (!grouped_arg && !one_of(r.arg, {ZEMM_ARG_DST, ZEMM_ARG_SRC_2}))
        refuse_arg(caller, r.arg);
    if (!suits(r.data_type, role::zero_point))
        refuse_type(caller, r.data_type, types_for(role::zero_point, ", "));
    if (is_floating(r.data_type) && r.arg != ZEMM_ARG_WEIGHTS)
        fail(zemm_invalid_arguments, "%s: %s zero points of arg %d (%s): only those of weights may be floats",
             caller, data_type_name(r.data_type), r.arg, arg_text(r.arg).c_str());
    const quant_entry e = checked_entry(caller, r);
    if (!grouped_arg && (r.data_type != zemm_s32 || r.group_ndims != 0))
        fail(zemm_invalid_arguments,
             "%s: %s zero points with group_ndims %d: those of arg %d (%s) are s32 without "
             "groups",
             caller, data_type_name(r.data_type), r.group_ndims, r.arg, arg_text(r.arg).c_str());
    if (is_small_int(r.data_type))
        need_mask(caller, r);
    attr.zero_points[r.arg] = e;
}

void set_offsets(zemm_primitive_attr &attr, const quant_request &r) {
    const char *const caller = "zemm_primitive_attr_set_offsets";
    if (r.arg != ZEMM_ARG_WEIGHTS)
        fail(zemm_invalid_arguments, "%s: arg %d (%s): only weights have offsets", caller, r.arg,
             arg_text(r.arg).c_str());
    if (attr.offset_factors.contains(r.arg)) {
        if (!is_int8(r.data_type))
            refuse_type(caller, r.data_type, scaled_types);
    } else if (!is_floating(r.data_type) || !suits(r.data_type, role::zero_point)) {
        refuse_type(caller, r.data_type, float_types);
    }
    attr.offsets[r.arg] = checked_entry(caller, r);
}

namespace {

void set_factors(const char *caller, const char *of, quant_map &factors, const quant_request &r) {
    if (r.arg != ZEMM_ARG_WEIGHTS)
        fail(zemm_invalid_arguments, "%s: arg %d (%s): only %s of weights have factors", caller, r.arg,
             arg_text(r.arg).c_str(), of);
    if (!is_floating(r.data_type) || !suits(r.data_type, role::zero_point))
        refuse_type(caller, r.data_type, float_types);
    factors[r.arg] = checked_entry(caller, r);
}

} // namespace

void set_scale_factors(zemm_primitive_attr &attr, const quant_request &r) {
    set_factors("zemm_primitive_attr_set_scale_factors", "scales", attr.scale_factors, r);
}

void set_offset_factors(zemm_primitive_attr &attr, const quant_request &r) {
    set_factors("zemm_primitive_attr_set_offset_factors", "offsets", attr.offset_factors, r);
}

void set_precomputed_reductions(zemm_primitive_attr &attr, const quant_request &r) {
    const char *const caller = "zemm_primitive_attr_set_precomputed_reductions";
    // Reductions of dst extend oneDNN: a reorder with dynamic scales writes the reductions of what it
    // quantises. Without such scales they are refused here, as in oneDNN.
    const quant_entry *dst_scale = find_entry(attr.scales, ZEMM_ARG_DST);
    if (r.arg == ZEMM_ARG_DST && (!dst_scale || dst_scale->mode == zemm_quantization_mode_static_sazp))
        fail(zemm_invalid_arguments,
             "%s: precomputed reductions of dst need dynamic scales of dst, which are set first", caller);
    if (r.arg != ZEMM_ARG_SRC && r.arg != ZEMM_ARG_DST)
        refuse_arg(caller, r.arg);
    if (r.data_type != zemm_s32)
        refuse_type(caller, r.data_type, "s32");
    attr.precomputed_reductions[r.arg] = checked_entry(caller, r);
}

void set_reduced_range(zemm_primitive_attr &attr, int arg, bool value) {
    if (arg != ZEMM_ARG_SRC && arg != ZEMM_ARG_DST)
        fail(zemm_invalid_arguments,
             "zemm_primitive_attr_set_reduced_range: arg %d (%s): only src of a matmul and dst of a reorder "
             "have a reduced range",
             arg, arg_text(arg).c_str());
    if (value)
        attr.reduced_range.insert(arg);
    else
        attr.reduced_range.erase(arg);
}

memory_desc md_dense(int ndims, const zemm_dim_t *dims, zemm_data_type_t dt) {
    memory_desc md;
    md.ndims = ndims;
    md.data_type = dt;
    md.format_kind = zemm_blocked;
    zemm_dim_t stride = 1;
    for (int d = ndims - 1; d >= 0; --d) {
        md.dims[d] = md.padded_dims[d] = dims[d];
        md.strides[d] = stride;
        stride = runtime_product(stride, dims[d]);
    }
    return md;
}

memory_desc md_of_quant(const memory_desc &tensor, const quant_entry &entry) {
    const int ndims = tensor.ndims;
    zemm_dims_t dims = {};
    for (int d = 0; d < ndims; ++d)
        dims[d] = !(entry.mask >> d & 1)          ? 1
                  : tensor.dims[d] == runtime_dim ? runtime_dim
                                                  : groups_along(tensor.dims[d], group_size(entry, ndims, d));
    return md_dense(ndims, dims, entry.data_type);
}

zemm_dim_t group_size(const quant_entry &entry, int ndims, int d) {
    const int last = d - (ndims - 2); // index among the last two dimensions
    return entry.group_ndims == 2 && last >= 0 && (entry.mask >> d & 1) ? entry.groups[last] : 1;
}

zemm_dim_t groups_along(zemm_dim_t size, zemm_dim_t group) {
    return size / group + (size % group != 0);
}

zemm_dim_t group_along(const memory_desc &tensor, const quant_entry &entry, int d) {
    const zemm_dim_t size = tensor.dims[d];
    const zemm_dim_t group = entry.mask >> d & 1 ? group_size(entry, tensor.ndims, d) : size;
    return size > 0 ? std::min(group, size) : group;
}

float_scaling float_scaling_of(zemm_quantization_mode_t mode) {
#define ZEMM_FLOAT_SCALING(name, of_mode, type, group)                                                       \
    if (mode == zemm_quantization_mode_##of_mode)                                                            \
        return {zemm_##type, group};
#include "lists/scalings.def"
    fail(zemm_runtime_error, "quantization mode %s has no scales that are computed",
         quantization_mode_name(mode));
}

namespace {

// Appends the bytes of values. A list starts with its length, so that different attributes never
// have the same key.
class key_writer {
public:
    template <typename T>
        requires std::is_scalar_v<T> // a struct may have padding bytes
    void add(T value) {
        key_.append(reinterpret_cast<const char *>(&value), sizeof value);
    }

    void add(const memory_desc &md) {
        const std::vector<uint8_t> blob = md_save(md);
        key_.append(blob.begin(), blob.end());
    }

    void add(const quant_entry &e) {
        add_all(e.mask, e.group_ndims, e.groups[0], e.groups[1], e.data_type, e.is_on_host, e.mode);
    }

    template <typename V> void add(const std::map<int, V> &values) {
        add(values.size());
        for (const auto &[arg, value] : values)
            add_all(arg, value);
    }

    void add(const std::set<int> &args) {
        add(args.size());
        for (int arg : args)
            add(arg);
    }

    void add(const fpmath &f) { add_all(f.mode, f.apply_to_int); }

    void add(const dropout_params &d) {
        add_all(d.is_on, d.seed_dt, d.use_offset, d.use_host_scalars);
        if (d.is_on)
            add(d.mask);
    }

    void add(const zemm_post_ops &list) {
        add(list.entries.size());
        for (const post_op &p : list.entries) {
            add_all(p.kind, p.alg, p.alpha, p.beta, p.zero_point, p.data_type, p.mask);
            for (const memory_desc *md : {&p.src1, &p.src2})
                if (!md_is_zero(*md)) // the algorithm says whether it has the tensor
                    add(*md);
        }
    }

    std::string take() { return std::move(key_); }

private:
    template <typename... T> void add_all(const T &...values) { (add(values), ...); }

    std::string key_;
};

} // namespace

std::string attr_key(const zemm_primitive_attr &attr) {
    key_writer key;
#define ZEMM_ATTRIBUTE(name, ...) key.add(attr.name);
#include "lists/attributes.def"
    return key.take();
}

bool saturates(const zemm_primitive_attr &attr, zemm_data_type_t dst) {
    return attr.saturation && (dst == zemm_f8_e5m2 || dst == zemm_f8_e4m3);
}

void check_saturation(const zemm_primitive_attr &attr, zemm_data_type_t dst) {
    if (attr.saturation && !saturates(attr, dst) && dst != zemm_f4_e2m1)
        fail(zemm_unimplemented, "saturation is for a dst of f8 or f4, not %s (integers saturate without it)",
             data_type_name(dst));
}

const char *tensor_name(int arg) {
    return arg == ZEMM_ARG_SRC ? "src" : arg == ZEMM_ARG_WEIGHTS ? "weights" : "dst";
}

} // namespace zemm
