// SPDX-License-Identifier: Apache-2.0
#include "reorder/sparse.hpp"

#include "common/error.hpp"
#include "common/md_check.hpp"
#include "common/names.hpp"
#include "kernels/args/reorder_args.h"
#include "kernels/args/sparse_args.h"
#include "primitive/launch_plan.hpp"
#include "primitive/refusals.hpp"

namespace zemm::reorder {

namespace {

static_assert(sizeof(kernels::sparse_problem) == 8 * 6);

bool is_packed(const memory_desc &md) {
    return md.encoding == zemm_packed;
}

zemm_data_type_t pointers_type(const memory_desc &md) {
    return is_packed(md) ? zemm_s64 : md.metadata_types[md.encoding == zemm_csr ? 1 : 0];
}

zemm_data_type_t indices_type(const memory_desc &md) {
    return is_packed(md) ? zemm_s64 : md.metadata_types[0];
}

// The sign of a float is no part of it: -0 is 0.
uint64_t nonzero_bits(zemm_data_type_t dt) {
    const int bits = data_type_bits(dt);
    const uint64_t all = bits == 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1;
    return is_floating(dt) ? all >> 1 : all;
}

kernels::sparse_problem problem_of(const memory_desc &md) {
    kernels::sparse_problem block = {};
    block.rows = sparse_rows(md);
    block.columns = is_packed(md) ? md_blocks(md_unpacked(md)).total : md.dims[1];
    block.count = md.nnz;
    block.nonzero = nonzero_bits(md.data_type);
    block.encoding = is_packed(md)             ? kernels::SPARSE_PACKED
                     : md.encoding == zemm_coo ? kernels::SPARSE_COO
                                               : kernels::SPARSE_CSR;
    block.bits = data_type_bits(md.data_type);
    block.has_wide_pointers = pointers_type(md) == zemm_s64;
    block.has_wide_indices = indices_type(md) == zemm_s64;
    return block;
}

launch_plan plan_of(const memory_desc &md, const char *kernel) {
    launch_plan made;
    made.kernel = kernel;
    made.block = to_bytes(problem_of(md));
    if (md_nelems(md) != 0)
        made.group_count = {work_groups(sparse_rows(md), 1, "the reorder"), 1, 1};
    return made;
}

// One of the buffers on the host, as numbers of 64 bits.
std::vector<int64_t> numbers_of(const zemm_memory &memory, int part, zemm_data_type_t dt) {
    const size_t size = md_size(memory.md, part);
    std::vector<char> bytes(size);
    ze::copy_now(*memory.engine->device, bytes.data(), memory.parts[size_t(part)].handle, size);
    const auto as = [&]<typename T>(T) {
        const T *begin = reinterpret_cast<const T *>(bytes.data());
        return std::vector<int64_t>(begin, begin + size / sizeof(T));
    };
    return dt == zemm_s64 ? as(int64_t()) : as(int32_t());
}

void check_pointers(const char *name, const std::vector<int64_t> &pointers, zemm_dim_t count) {
    if (pointers.front() != 0 || pointers.back() != count)
        fail(zemm_invalid_arguments,
             "%s: the pointers go from %lld to %lld, they must go from 0 to nnz = %lld", name,
             (long long)pointers.front(), (long long)pointers.back(), (long long)count);
    for (size_t row = 0; row + 1 < pointers.size(); ++row)
        if (pointers[row] > pointers[row + 1])
            fail(zemm_invalid_arguments, "%s: pointer %zu is %lld, smaller than %lld before it", name,
                 row + 1, (long long)pointers[row + 1], (long long)pointers[row]);
}

void check_matrix(const char *name, const memory_desc &md, const std::vector<int64_t> &rows,
                  const std::vector<int64_t> &columns) {
    const bool is_coo = md.encoding == zemm_coo;
    if (!is_coo)
        check_pointers(name, rows, md.nnz);
    size_t row = 0;
    for (size_t i = 0; i < columns.size(); ++i) {
        while (!is_coo && int64_t(i) >= rows[row + 1])
            ++row;
        const auto refuse = [&](const char *what, int64_t index, const char *why) {
            fail(zemm_invalid_arguments, "%s: the %s index %lld of value %zu %s (%s)", name, what,
                 (long long)index, i, why, md_sentence(md).c_str());
        };
        if (columns[i] < 0 || columns[i] >= md.dims[1])
            refuse("column", columns[i], "is out of range");
        if (is_coo && (rows[i] < 0 || rows[i] >= md.dims[0]))
            refuse("row", rows[i], "is out of range");
        if (is_coo && i > 0 && rows[i] < rows[i - 1])
            refuse("row", rows[i], "is below the one before it: values must be sorted by row");
        const bool same_row = i > 0 && (is_coo ? rows[i] == rows[i - 1] : int64_t(i) > rows[row]);
        if (same_row && columns[i] <= columns[i - 1])
            refuse("column", columns[i], "is not above the one before it: those of a row must increase");
    }
}

// The offset of each block is the number of bits that are set before it. Values at the end may be unused.
void check_packed(const char *name, const memory_desc &md, const std::vector<int64_t> &offsets,
                  const std::vector<int64_t> &masks) {
    const size_t words = masks.size() / offsets.size();
    int64_t count = 0;
    for (size_t block = 0; block < offsets.size(); ++block) {
        if (offsets[block] != count)
            fail(zemm_invalid_arguments,
                 "%s: block %zu begins at value %lld, but the blocks before it have %lld: a reorder to the "
                 "descriptor of the weights writes these buffers",
                 name, block, (long long)offsets[block], (long long)count);
        for (size_t i = 0; i < words; ++i)
            count += __builtin_popcountll(uint64_t(masks[block * words + i]));
    }
    if (count > md.nnz)
        fail(zemm_invalid_arguments, "%s: the bitmask has %lld values, nnz is only %lld", name,
             (long long)count, (long long)md.nnz);
}

} // namespace

void check_sparse(const char *name, const memory_desc &md) {
    if (md.encoding != zemm_csr && md.encoding != zemm_coo && !is_packed(md))
        refuse_sparse(name, md);
    if (md_has_runtime(md))
        fail(zemm_unimplemented, "%s: a sparse tensor needs known dimensions and a known number of values",
             name);
    if (is_packed(md) && !md_has_packed_layout(md))
        fail(
            zemm_unimplemented,
            "%s: the packed encoding has no layout yet: take the descriptor that a matmul with these weights "
            "gives (zemm_query_weights_md)",
            name);
    if (!is_packed(md) && md.ndims != 2)
        fail(zemm_unimplemented, "%s: a sparse matrix has 2 dimensions, not %d", name, md.ndims);
    if (data_type_bits(md.data_type) < 8 || md.data_type == zemm_e8m0)
        fail(zemm_unimplemented, "%s: values of %s are not implemented in the %s encoding", name,
             data_type_name(md.data_type), sparse_encoding_name(md.encoding));
    const auto check_type = [&](zemm_data_type_t dt, zemm_dim_t most) {
        if (dt != zemm_s32 && dt != zemm_s64)
            fail(zemm_unimplemented, "%s: indices of %s are not implemented, s32 and s64 are", name,
                 data_type_name(dt));
        if (dt == zemm_s32 && most > INT32_MAX)
            fail(zemm_unimplemented, "%s: indices of s32 do not reach %lld, s64 do", name, (long long)most);
    };
    check_type(pointers_type(md), md.encoding == zemm_csr ? md.nnz : md.dims[0]);
    check_type(indices_type(md), md.dims[1]);
}

int pointers_part(const memory_desc &md) {
    return md.encoding == zemm_csr ? 2 : 1;
}

int indices_part(const memory_desc &md) {
    return md.encoding == zemm_csr ? 1 : 2;
}

memory_desc dense_md(const memory_desc &md) {
    return is_packed(md) ? md_unpacked(md) : md_with_strides(md.ndims, md.dims, md.data_type, nullptr);
}

zemm_dim_t sparse_rows(const memory_desc &md) {
    return is_packed(md) ? zemm_dim_t(md_size(md, 1) / sizeof(int64_t)) : md.dims[0];
}

launch_plan plan_densify(const memory_desc &md) {
    return plan_of(md, "densify");
}

launch_plan plan_sparsify(const memory_desc &md, bool counts) {
    launch_plan made = plan_of(md, "sparsify");
    made.constants = {{REORDER_SPEC_FLAGS, counts ? SPARSIFY_COUNTS : 0u}};
    return made;
}

void check_contents(const char *name, const zemm_memory &memory) {
    const memory_desc &md = memory.md;
    const auto pointers = numbers_of(memory, pointers_part(md), pointers_type(md));
    const auto indices = numbers_of(memory, indices_part(md), indices_type(md));
    if (is_packed(md))
        check_packed(name, md, pointers, indices);
    else
        check_matrix(name, md, pointers, indices);
}

} // namespace zemm::reorder
