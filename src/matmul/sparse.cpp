// SPDX-License-Identifier: Apache-2.0
#include "matmul/sparse.hpp"

#include <vector>

#include "common/error.hpp"
#include "common/names.hpp"
#include "kernels/densify_args.h"
#include "primitive/launch.hpp"
#include "primitive/support.hpp"
#include "ze/buffer.hpp"

namespace zemm::matmul {

namespace {

static_assert(sizeof(kernels::densify_problem) == 8 * 4);

void check_encoding(const char *name, const memory_desc &md, const char *other_name,
                    const memory_desc &other) {
    if (md.encoding != zemm_csr && md.encoding != zemm_coo)
        refuse_sparse(name, md);
    if (md.ndims != 2)
        fail(zemm_unimplemented, "%s: a sparse matrix has 2 dimensions, not %d", name, md.ndims);
    if (md_has_runtime(md))
        fail(zemm_unimplemented, "%s: a sparse tensor needs known dimensions and a known number of values",
             name);
    for (const zemm_data_type_t index : md.metadata_types)
        if (index != zemm_s32 && index != zemm_data_type_undef)
            fail(zemm_unimplemented, "%s: indices of %s are not implemented, s32 are", name,
                 data_type_name(index));
    if (md.data_type != zemm_f32 && md.data_type != zemm_f16)
        fail(zemm_unimplemented, "%s: the %s encoding needs f32 or f16, not %s", name,
             sparse_encoding_name(md.encoding), data_type_name(md.data_type));
    if (is_sparse(other))
        fail(zemm_unimplemented, "%s and %s are both sparse: a matmul takes one sparse tensor", name,
             other_name);
}

// One of the buffers on the host.
std::vector<int32_t> indices_of(const zemm_memory &memory, int part) {
    std::vector<int32_t> indices(md_size(memory.md, part) / sizeof(int32_t));
    if (!indices.empty())
        ze::copy_now(*memory.engine->device, indices.data(), memory.parts[size_t(part)].handle,
                     indices.size() * sizeof(int32_t));
    return indices;
}

void check_pointers(const char *name, const std::vector<int32_t> &pointers, zemm_dim_t count) {
    if (pointers.front() != 0 || pointers.back() != count)
        fail(zemm_invalid_arguments, "%s: the pointers go from %d to %d, they must go from 0 to nnz = %lld",
             name, pointers.front(), pointers.back(), (long long)count);
    for (size_t row = 0; row + 1 < pointers.size(); ++row)
        if (pointers[row] > pointers[row + 1])
            fail(zemm_invalid_arguments, "%s: pointer %zu is %d, smaller than %d before it", name, row + 1,
                 pointers[row + 1], pointers[row]);
}

} // namespace

bool is_sparse(const memory_desc &md) {
    return md.format_kind == zemm_format_kind_sparse;
}

void check_sparse(const problem &p) {
    if (is_sparse(p.src))
        check_encoding("src", p.src, "weights", p.wei);
    else if (is_sparse(p.wei))
        check_encoding("weights", p.wei, "src", p.src);
    refuse_sparse("dst", p.dst);
    refuse_sparse("bias", p.bias);
}

int rows_part(const memory_desc &md) {
    return md.encoding == zemm_coo ? 1 : 2;
}

int columns_part(const memory_desc &md) {
    return md.encoding == zemm_coo ? 2 : 1;
}

reorder::plan plan_densify(const memory_desc &md) {
    kernels::densify_problem block = {};
    block.rows = md.dims[0];
    block.columns = md.dims[1];
    block.count = md.nnz;
    block.is_coo = md.encoding == zemm_coo;
    block.bits = data_type_bits(md.data_type);
    reorder::plan plan;
    plan.kernel = "densify";
    plan.block = reorder::to_bytes(block);
    plan.group_count = {uint32_t(groups(block.rows, 1, "rows")), 1, 1};
    return plan;
}

void check_indices(const char *name, const zemm_memory &memory) {
    const memory_desc &md = memory.md;
    const std::vector<int32_t> rows = indices_of(memory, rows_part(md)),
                               columns = indices_of(memory, columns_part(md));
    const bool is_coo = md.encoding == zemm_coo;
    if (!is_coo)
        check_pointers(name, rows, md.nnz);
    size_t row = 0;
    for (size_t i = 0; i < columns.size(); ++i) {
        while (!is_coo && i >= size_t(rows[row + 1]))
            ++row;
        const auto refuse = [&](const char *what, int32_t index, const char *why) {
            fail(zemm_invalid_arguments, "%s: the %s index %d of value %zu %s (%s)", name, what, index, i,
                 why, md_sentence(md).c_str());
        };
        if (columns[i] < 0 || columns[i] >= md.dims[1])
            refuse("column", columns[i], "is out of range");
        if (is_coo && (rows[i] < 0 || rows[i] >= md.dims[0]))
            refuse("row", rows[i], "is out of range");
        if (is_coo && i > 0 && rows[i] < rows[i - 1])
            refuse("row", rows[i], "is below the one before it: values must be sorted by row");
        const bool same_row = i > 0 && (is_coo ? rows[i] == rows[i - 1] : i > size_t(rows[row]));
        if (same_row && columns[i] <= columns[i - 1])
            refuse("column", columns[i], "is not above the one before it: those of a row must increase");
    }
}

} // namespace zemm::matmul
