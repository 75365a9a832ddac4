// SPDX-License-Identifier: Apache-2.0
// The primitive descriptor and primitive of a reorder from or to a sparse tensor. It runs in steps: a
// sparse src becomes dense, a reorder of dense tensors converts it, and the result becomes a sparse dst.
#pragma once

#include <optional>

#include "primitive/primitive_desc.hpp"
#include "reorder/helper.hpp"
#include "reorder/problem.hpp"

namespace zemm::reorder {

// The steps that a problem needs, and where their results are in the scratchpad.
struct sparse_steps {
    std::optional<plan> densify, convert, count, sparsify;
    size_t densified_at = 0, converted_at = 0, starts_at = 0; // bytes
    size_t scratchpad_size = 0;
};

class sparse_desc : public zemm_primitive_desc {
public:
    // Throws what candidates() throws.
    sparse_desc(struct problem p, zemm_engine_t src_engine, zemm_engine_t dst_engine);

    zemm_primitive_kind_t kind() const override { return zemm_reorder; }
    const zemm_primitive_attr &attr() const override { return problem.attr; }
    const char *impl_name() const override { return is_dst_sparse() ? "sparsify" : "densify"; }
    bool empty() const override { return problem.empty(); }
    std::unique_ptr<zemm_primitive_desc> clone() const override;
    bool next_impl() override { return false; }
    std::unique_ptr<zemm_primitive> create(cache_result &found) const override;
    std::vector<ze::kernel_source> sources() const override;
    std::vector<const memory_desc *> key_tensors() const override { return {&problem.src, &problem.dst}; }
    void query(zemm_query_t what, int index, void *result) const override;
    std::string log_text() const override;

    bool is_dst_sparse() const { return steps.sparsify.has_value(); }
    // The first one gives the implementation its name.
    std::vector<const std::optional<plan> *> plans() const;
    const char *build_flags() const;

    const struct problem problem;
    const sparse_steps steps;
    const std::shared_ptr<zemm_engine> src_engine, dst_engine;
};

struct compiled_sparse : cached {
    using cached::cached;
    helper densify, convert, count, sparsify;
};

class sparse_primitive : public static_primitive {
public:
    sparse_primitive(std::unique_ptr<const zemm_primitive_desc> pd, std::shared_ptr<const compiled_sparse> c)
        : static_primitive(std::move(pd)), compiled_(std::move(c)) {}

    // Pointers and indices of a sparse src.
    std::unique_ptr<const values> read_values(ze::stream &stream,
                                              const std::map<int, zemm_memory_t> &memories,
                                              std::span<const ze_event_handle_t> waits) const override;
    // Waits for the counts of a sparse dst: their sum must be its nnz.
    void run(ze::stream &stream, const std::map<int, zemm_memory_t> &memories, const values *,
             std::span<const ze_event_handle_t> waits) const override;

private:
    const std::shared_ptr<const compiled_sparse> compiled_;
};

} // namespace zemm::reorder
