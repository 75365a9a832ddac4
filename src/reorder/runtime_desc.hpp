// SPDX-License-Identifier: Apache-2.0
// The primitive descriptor of a reorder with runtime dimensions or strides.
#pragma once

#include "primitive/runtime.hpp"
#include "reorder/problem.hpp"

namespace zemm::reorder {

class runtime_desc : public runtime_primitive_desc {
public:
    // Throws what make_problem() and candidates() throw for likely dimensions.
    runtime_desc(problem p, zemm_engine_t src_engine, zemm_engine_t dst_engine);

    const zemm_primitive_attr &attr() const override { return problem_.attr; }
    std::unique_ptr<zemm_primitive_desc> clone() const override;
    void query(zemm_query_t what, int index, void *result) const override;
    std::string log_text() const override;

private:
    std::unique_ptr<zemm_primitive_desc> resolved(const tensor_map &tensors) const override;

    const problem problem_;
    const std::shared_ptr<zemm_engine> src_engine_, dst_engine_;
};

// A runtime_desc if the tensors have runtime values, a sparse_desc if one is sparse, else a
// primitive_desc. Throws what make_problem() and candidates() throw.
std::unique_ptr<zemm_primitive_desc> make_primitive_desc(const memory_desc &src, zemm_engine_t src_engine,
                                                         const memory_desc &dst, zemm_engine_t dst_engine,
                                                         const zemm_primitive_attr *attr);

} // namespace zemm::reorder
