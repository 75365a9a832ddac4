// SPDX-License-Identifier: Apache-2.0
// Primitive attributes: quantisation parameters, modes and post-ops. The setters check everything
// that can be checked without the tensors. The primitive descriptor checks the rest.
#pragma once

#include <map>
#include <set>
#include <string>

#include "common/memory_desc.hpp"
#include "common/post_ops.hpp"
#include "zemm/zemm_types.h"

namespace zemm {

// Scales, zero points, offsets or precomputed reductions of one argument.
struct quant_entry {
    int mask = 0;
    int group_ndims = 0;           // 0 or 2
    zemm_dim_t groups[2] = {1, 1}; // of the last two dimensions of the tensor
    zemm_data_type_t data_type = zemm_f32;
    bool is_on_host = false;
    zemm_quantization_mode_t mode = zemm_quantization_mode_static_sazp;
    bool operator==(const quant_entry &) const = default;
};
using quant_map = std::map<int, quant_entry>; // by ZEMM_ARG_...
// The entry of an argument; nullptr if it has none.
const quant_entry *find_entry(const quant_map &map, int arg);

zemm_fpmath_mode_t default_fpmath_mode();

struct fpmath {
    zemm_fpmath_mode_t mode = default_fpmath_mode();
    bool apply_to_int = false;
};
using rounding_map = std::map<int, zemm_rounding_mode_t>; // only arguments whose mode is not environment

struct dropout_params {
    bool is_on = false;
    memory_desc mask = {}; // a zero descriptor if no mask is written
    zemm_data_type_t seed_dt = zemm_s32;
    bool use_offset = false, use_host_scalars = false;
};

} // namespace zemm

// The members are the rows of lists/attributes.def:
// - saturation: values that are too large for dst become its largest one,
// - reduced_range: the arguments whose values have 7 bits,
// - src_dyn_quant_params: the elements along K of src that are quantised together; 0: src is not quantised.
struct zemm_primitive_attr {
#define ZEMM_ATTRIBUTE(name, type, ...) type name = {};
#include "lists/attributes.def"
};

namespace zemm {

// Setters. If the arguments are wrong, they throw invalid_arguments and change nothing.

// The parameters that the setters of quantisation parameters have in common.
struct quant_request {
    int arg;
    int mask;
    int group_ndims;
    const zemm_dim_t *group_dims;
    zemm_data_type_t data_type;
    bool is_on_host = false;
    zemm_quantization_mode_t mode = zemm_quantization_mode_static_sazp;
};

// Setters of the rows of lists/attributes.def that are no flags.
#define ZEMM_TENSOR_ATTRIBUTE(name, ...) void set_##name(zemm_primitive_attr &attr, const quant_request &r);
#define ZEMM_MODE_ATTRIBUTE(name, ...) void set_##name(zemm_primitive_attr &attr, zemm_##name##_t mode);
#define ZEMM_SIZE_ATTRIBUTE(name, ...) void set_##name(zemm_primitive_attr &attr, zemm_dim_t size);
#include "lists/attributes.def"

void set_default_fpmath_mode(zemm_fpmath_mode_t mode);
void set_fpmath_mode(zemm_primitive_attr &attr, zemm_fpmath_mode_t mode, bool apply_to_int);
void set_rounding(zemm_primitive_attr &attr, int arg, zemm_rounding_mode_t mode);
zemm_rounding_mode_t get_rounding(const zemm_primitive_attr &attr, int arg);
void set_reduced_range(zemm_primitive_attr &attr, int arg, bool value);
// mask: NULL or a zero descriptor if no mask is written.
void set_dropout(zemm_primitive_attr &attr, const memory_desc *mask, zemm_data_type_t seed_dt,
                 bool use_offset, bool use_host_scalars);

// The attributes as bytes, a part of the primitive cache's key. Different attributes have different
// bytes.
std::string attr_key(const zemm_primitive_attr &attr);
// The attributes as in the verbose log: "attr-scales:src0:3:f16:1x128+wei:2:f16 attr-post-ops:...".
std::string attr_text(const zemm_primitive_attr &attr);
// Refuses the attributes that the operation does not take, as lists/attributes.def says.
enum class operation { inner_product, reorder, grouped };
void refuse_missing(const zemm_primitive_attr &attr, operation op);
// Whether kernels have to saturate dst. Stores of f4 do so in any case.
bool saturates(const zemm_primitive_attr &attr, zemm_data_type_t dst);
// Throws unimplemented if the attributes want saturation of a dst that is no float of 8 or 4 bits.
void check_saturation(const zemm_primitive_attr &attr, zemm_data_type_t dst);
// The name of an argument in the verbose log: "src0", "wei", "dst", ...
std::string arg_text(int arg);
// The name of an argument in the sentence of a refusal: "src", "weights", or "dst" for all others.
const char *tensor_name(int arg);

// A dense row-major descriptor. Unlike md_with_strides() it accepts rows that end inside a byte,
// which parameter tensors may have.
memory_desc md_dense(int ndims, const zemm_dim_t *dims, zemm_data_type_t dt);
// The descriptor of a tensor's parameters. A dimension with a bit in the mask has one value per
// group, or per element if there are no groups. Any other dimension is 1.
memory_desc md_of_quant(const memory_desc &tensor, const quant_entry &entry);
// The size of a group along dimension d of a tensor; 1 if the entry has no groups there.
zemm_dim_t group_size(const quant_entry &entry, int ndims, int d);
// The number of groups of a dimension. The last one is shorter where the group does not divide the size.
zemm_dim_t groups_along(zemm_dim_t size, zemm_dim_t group);
// The number of elements along dimension d that share a value: a group, or all if the mask has no
// bit for d or the group is larger.
zemm_dim_t group_along(const memory_desc &tensor, const quant_entry &entry, int d);

// A row of lists/scalings.def: scales that are computed for floats of 8 and 4 bits. mode: dynamic_mx or
// dynamic_fp.
struct float_scaling {
    zemm_data_type_t type; // of the scales
    zemm_dim_t group;      // elements that share a scale
};
float_scaling float_scaling_of(zemm_quantization_mode_t mode);

// Sets everything but the strides in a kernel's argument for a parameter tensor.
template <typename Argument>
void set_parameter(Argument &to, const memory_desc &tensor, const quant_entry &entry) {
    to.row_group = group_size(entry, tensor.ndims, tensor.ndims - 2);
    to.column_group = group_size(entry, tensor.ndims, tensor.ndims - 1);
    to.data_type = entry.data_type;
    to.on_host = entry.is_on_host;
}

} // namespace zemm
