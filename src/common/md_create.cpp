// SPDX-License-Identifier: Apache-2.0
// Functions that create dense memory descriptors.
#include <algorithm>
#include <cstring>

#include "common/error.hpp"
#include "common/layout.hpp"
#include "common/md_check.hpp"
#include "common/names.hpp"

namespace zemm {

namespace {

memory_desc shaped(const char *caller, int ndims, const zemm_dim_t *dims, zemm_data_type_t dt) {
    check_shape(caller, ndims, dims, dt);
    memory_desc md;
    md.ndims = ndims;
    md.data_type = dt;
    std::copy_n(dims, ndims, md.dims);
    std::copy_n(dims, ndims, md.padded_dims);
    return md;
}

memory_desc with_tag_text(const char *caller, int ndims, const zemm_dim_t *dims, zemm_data_type_t dt,
                          const char *tag) {
    if (ndims == 0 || !std::strcmp(tag, "undef"))
        return {};
    memory_desc md = shaped(caller, ndims, dims, dt);
    if (!std::strcmp(tag, "any")) {
        if (std::count(dims, dims + ndims, runtime_dim))
            fail(zemm_invalid_arguments, "%s: format any with the runtime dims %s", caller,
                 dims_text(ndims, dims).c_str());
        md.format_kind = zemm_format_kind_any;
        return md;
    }
    apply_layout(caller, md, parse_layout(caller, tag));
    check_strides(caller, md);
    return md;
}

// The dense row-major layout.
layout row_major(int ndims) {
    layout l;
    l.ndims = ndims;
    for (int d = 0; d < ndims; d++)
        l.order[d] = d;
    return l;
}

} // namespace

memory_desc md_row_major(const memory_desc &md, zemm_data_type_t dt) {
    zemm_dims_t dims = {};
    std::copy_n(md.dims, md.ndims, dims);
    const zemm_dim_t span = span_of(dt);
    if (md.ndims != 0 && dims[md.ndims - 1] % span != 0)
        dims[md.ndims - 1] += span - dims[md.ndims - 1] % span;
    const memory_desc whole = md_with_strides(md.ndims, dims, dt, nullptr);
    return md_with_strides(md.ndims, md.dims, dt, whole.strides);
}

memory_desc md_with_strides(int ndims, const zemm_dim_t *dims, zemm_data_type_t dt,
                            const zemm_dim_t *strides) {
    const char *const caller = "zemm_memory_desc_create_with_strides";
    if (ndims == 0)
        return {};
    memory_desc md = shaped(caller, ndims, dims, dt);
    apply_layout(caller, md, row_major(ndims));
    if (strides)
        std::copy_n(strides, ndims, md.strides);
    check_strides(caller, md);
    return md;
}

memory_desc md_with_tag(int ndims, const zemm_dim_t *dims, zemm_data_type_t dt, zemm_format_tag_t tag) {
    const char *const caller = "zemm_memory_desc_create_with_tag";
    if (ndims != 0 && !is_known(tag))
        fail(zemm_invalid_arguments, "%s: tag %d is unknown", caller, int(tag));
    return with_tag_text(caller, ndims, dims, dt, format_tag_name(tag));
}

memory_desc md_with_string_tag(int ndims, const zemm_dim_t *dims, zemm_data_type_t dt, const char *tag) {
    require(tag, "tag");
    return with_tag_text("zemm_memory_desc_create_with_string_tag", ndims, dims, dt, tag);
}

memory_desc md_host_scalar(zemm_data_type_t dt) {
    const zemm_dim_t one = 1;
    memory_desc md = shaped("zemm_memory_desc_create_host_scalar", 1, &one, dt);
    md.format_kind = zemm_format_kind_host_scalar;
    return md;
}

void md_resolve_any(memory_desc &md) {
    if (md.format_kind != zemm_format_kind_any)
        return;
    memory_desc dense = md;
    try {
        apply_layout("format any", dense, row_major(md.ndims));
        check_strides("format any", dense);
    } catch (const error &e) {
        // The tensor is valid, so the status is unimplemented. Only its dense row-major layout is
        // not valid: rows that end inside a byte.
        fail(zemm_unimplemented, "%s", e.what());
    }
    md = dense;
}

memory_desc md_with_dims(const memory_desc &asked, const zemm_dim_t *dims) {
    memory_desc md = asked;
    std::copy_n(dims, md.ndims, md.dims);
    md.offset0 = 0;
    apply_layout("runtime dimensions", md, layout_of(asked));
    return md;
}

} // namespace zemm
