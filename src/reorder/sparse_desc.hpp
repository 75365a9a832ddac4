// SPDX-License-Identifier: Apache-2.0
// The primitive descriptor and primitive of a reorder from or to a sparse tensor: a sparse src becomes dense,
// a reorder of dense tensors converts it, and the result becomes a sparse dst.
#pragma once

#include "primitive/sequence.hpp"
#include "reorder/problem.hpp"

namespace zemm::reorder {

class sparse_desc : public zemm_primitive_desc {
public:
    // Throws what candidates() throws.
    sparse_desc(struct problem p, zemm_engine_t src_engine, zemm_engine_t dst_engine);

    zemm_primitive_kind_t kind() const override { return zemm_reorder; }
    const zemm_primitive_attr &attr() const override { return problem.attr; }
    const char *impl_name() const override;
    bool empty() const override { return problem.empty(); }
    std::unique_ptr<zemm_primitive_desc> clone() const override;
    bool next_impl() override { return false; }
    std::unique_ptr<zemm_primitive> create(cache_result &found) const override;
    std::vector<ze::kernel_source> sources() const override { return launches->sources(); }
    std::vector<const memory_desc *> key_tensors() const override { return {&problem.src, &problem.dst}; }
    void query(zemm_query_t what, int index, void *result) const override;
    std::string log_text() const override;

    const struct problem problem;
    const std::shared_ptr<zemm_engine> src_engine, dst_engine;
    std::shared_ptr<const sequence> launches; // none for an empty problem
};

class sparse_primitive : public sequence_primitive {
public:
    using sequence_primitive::sequence_primitive;

    // Pointers and indices of a sparse src.
    std::unique_ptr<const values> read_values(ze::stream &stream, const memory_map &memories,
                                              std::span<const ze_event_handle_t> waits) const override;
};

} // namespace zemm::reorder
