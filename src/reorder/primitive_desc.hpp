// SPDX-License-Identifier: Apache-2.0
// A reorder's primitive descriptor.
#pragma once

#include "primitive/sequence.hpp"
#include "reorder/plan.hpp"

namespace zemm::reorder {

argument_map arguments_of(const problem &p, zemm_engine_t src_engine, zemm_engine_t dst_engine);
// The part of a log line that zemm_primitive_desc::log_text() describes. aux: oneDNN's field of that
// name.
std::string log_text_of(const problem &p, zemm_engine_kind_t engine, const char *impl_name,
                        const std::string &aux);

// The engine that runs the reorder. Both engines must be of one device, because one kernel accesses
// the memories of both. Throws unimplemented if they are not.
zemm_engine_t engine_of(zemm_engine_t src, zemm_engine_t dst);
// Answers the queries for the engines of src and dst; returns false for other queries.
bool answer_engine(zemm_query_t what, zemm_engine_t src, zemm_engine_t dst, void *result);

class primitive_desc : public zemm_primitive_desc {
public:
    // Throws what candidates() throws.
    primitive_desc(struct problem p, zemm_engine_t src_engine, zemm_engine_t dst_engine);

    zemm_primitive_kind_t kind() const override { return zemm_reorder; }
    const zemm_primitive_attr &attr() const override { return problem->attr; }
    const char *impl_name() const override { return (*kernels)[chosen].first->name; }
    bool empty() const override { return problem->empty(); }
    std::unique_ptr<zemm_primitive_desc> clone() const override;
    bool next_impl() override;
    std::unique_ptr<zemm_primitive> create(cache_result &found) const override;
    std::vector<ze::kernel_source> sources() const override;
    std::vector<const memory_desc *> key_tensors() const override { return {&problem->src, &problem->dst}; }
    void query(zemm_query_t what, int index, void *result) const override;
    std::string log_text() const override;

    sequence launches() const; // none for an empty problem

    std::shared_ptr<const struct problem> problem;
    const std::shared_ptr<zemm_engine> src_engine, dst_engine;
    std::shared_ptr<const std::vector<std::pair<const implementation *, launch_plan>>> kernels;
    size_t chosen = 0;
};

} // namespace zemm::reorder
