// SPDX-License-Identifier: Apache-2.0
// Entry points of memory descriptors.
#include <algorithm>

#include "common/guard.hpp"
#include "common/md_check.hpp"
#include "common/md_ops.hpp"
#include "zemm/zemm.h"

using namespace zemm;

namespace {

// Makes a handle of the descriptor that build() returns. name: the parameter md in the public
// header. *md is unchanged if build() throws.
template <typename F> zemm_status_t make(zemm_memory_desc_t *md, const char *name, F &&build) {
    return guard([&] {
        require(md, name);
        *md = new memory_desc(build());
    });
}

} // namespace

zemm_status_t zemm_memory_desc_create_with_strides(zemm_memory_desc_t *md, int ndims, const zemm_dims_t dims,
                                                   zemm_data_type_t data_type, const zemm_dims_t strides) {
    return make(md, "md", [&] { return md_with_strides(ndims, dims, data_type, strides); });
}

zemm_status_t zemm_memory_desc_create_with_tag(zemm_memory_desc_t *md, int ndims, const zemm_dims_t dims,
                                               zemm_data_type_t data_type, zemm_format_tag_t tag) {
    return make(md, "md", [&] { return md_with_tag(ndims, dims, data_type, tag); });
}

zemm_status_t zemm_memory_desc_create_with_string_tag(zemm_memory_desc_t *md, int ndims,
                                                      const zemm_dims_t dims, zemm_data_type_t data_type,
                                                      const char *tag) {
    return make(md, "md", [&] { return md_with_string_tag(ndims, dims, data_type, tag); });
}

zemm_status_t zemm_memory_desc_create_with_csr_encoding(zemm_memory_desc_t *md, int ndims,
                                                        const zemm_dims_t dims, zemm_data_type_t data_type,
                                                        zemm_dim_t nnz, zemm_data_type_t indices_dt,
                                                        zemm_data_type_t pointers_dt) {
    return make(md, "md", [&] { return md_csr(ndims, dims, data_type, nnz, indices_dt, pointers_dt); });
}

zemm_status_t zemm_memory_desc_create_with_coo_encoding(zemm_memory_desc_t *md, int ndims,
                                                        const zemm_dims_t dims, zemm_data_type_t data_type,
                                                        zemm_dim_t nnz, zemm_data_type_t indices_dt) {
    return make(md, "md", [&] { return md_coo(ndims, dims, data_type, nnz, indices_dt); });
}

zemm_status_t zemm_memory_desc_create_with_packed_encoding(zemm_memory_desc_t *md, int ndims,
                                                           const zemm_dims_t dims, zemm_data_type_t data_type,
                                                           zemm_dim_t nnz) {
    return make(md, "md", [&] { return md_packed(ndims, dims, data_type, nnz); });
}

zemm_status_t zemm_memory_desc_create_with_grouped_encoding(zemm_memory_desc_t *md, int ndims,
                                                            const zemm_dims_t dims,
                                                            zemm_data_type_t data_type, int variable_dim_idx,
                                                            zemm_dim_t group_count,
                                                            zemm_data_type_t offsets_dt) {
    return make(md, "md", [&] {
        return md_grouped(ndims, dims, data_type, variable_dim_idx, group_count, offsets_dt);
    });
}

zemm_status_t zemm_memory_desc_create_host_scalar(zemm_memory_desc_t *md, zemm_data_type_t data_type) {
    return make(md, "md", [&] { return md_host_scalar(data_type); });
}

zemm_status_t zemm_memory_desc_create_submemory(zemm_memory_desc_t *md, const_zemm_memory_desc_t parent,
                                                const zemm_dims_t dims, const zemm_dims_t offsets) {
    return make(md, "md", [&] {
        require(parent, "parent");
        return md_submemory(*parent, dims, offsets);
    });
}

zemm_status_t zemm_memory_desc_create_with_blob(zemm_memory_desc_t *md, const uint8_t *blob) {
    return make(md, "md", [&] {
        require(blob, "blob");
        return md_load(blob);
    });
}

zemm_status_t zemm_memory_desc_get_blob(uint8_t *blob, size_t *size, const_zemm_memory_desc_t md) {
    return guard([&] {
        require(md, "md");
        if (!blob) {
            require(size, "size");
            *size = md_blob_size();
            return;
        }
        // size may be NULL; else it is the room in blob.
        if (size && *size < md_blob_size())
            fail(zemm_invalid_arguments,
                 "zemm_memory_desc_get_blob: size %zu is less than the blob's %zu bytes", *size,
                 md_blob_size());
        const std::vector<uint8_t> bytes = md_save(*md);
        std::copy(bytes.begin(), bytes.end(), blob);
    });
}

zemm_status_t zemm_memory_desc_clone(zemm_memory_desc_t *md, const_zemm_memory_desc_t existing) {
    return make(md, "md", [&] {
        require(existing, "existing");
        return *existing;
    });
}

zemm_status_t zemm_memory_desc_destroy(zemm_memory_desc_t md) {
    delete md;
    return zemm_success;
}

zemm_status_t zemm_memory_desc_reshape(zemm_memory_desc_t *out, const_zemm_memory_desc_t in, int ndims,
                                       const zemm_dims_t dims) {
    return make(out, "out", [&] {
        require(in, "in");
        return md_reshape(*in, ndims, dims);
    });
}

zemm_status_t zemm_memory_desc_permute_axes(zemm_memory_desc_t *out, const_zemm_memory_desc_t in,
                                            const int *permutation) {
    return make(out, "out", [&] {
        require(in, "in");
        return md_permute_axes(*in, permutation);
    });
}

zemm_status_t zemm_memory_desc_set_data_type(zemm_memory_desc_t md, zemm_data_type_t data_type) {
    return guard([&] {
        require(md, "md");
        *md = md_with_data_type(*md, data_type);
    });
}

zemm_status_t zemm_memory_desc_query(const_zemm_memory_desc_t md, zemm_query_t what, void *result) {
    return zemm_memory_desc_query_v2(md, what, 0, result);
}

zemm_status_t zemm_memory_desc_query_v2(const_zemm_memory_desc_t md, zemm_query_t what, int index,
                                        void *result) {
    return guard_query([&] {
        require(md, "md");
        md_query(*md, what, index, result);
    });
}

int zemm_memory_desc_equal(const_zemm_memory_desc_t a, const_zemm_memory_desc_t b) {
    if (a == b)
        return 1;
    return a && b && md_equal(*a, *b);
}

size_t zemm_memory_desc_get_size(const_zemm_memory_desc_t md) {
    return zemm_memory_desc_get_size_v2(md, 0);
}

size_t zemm_memory_desc_get_size_v2(const_zemm_memory_desc_t md, int index) {
    return md ? md_size(*md, index) : 0;
}

size_t zemm_data_type_size(zemm_data_type_t data_type) {
    return size_t(bytes_of(data_type, 1));
}
