// SPDX-License-Identifier: Apache-2.0
// The primitive descriptor of a matmul with runtime dimensions or strides.
#pragma once

#include "matmul/problem/problem.hpp"
#include "primitive/runtime.hpp"

namespace zemm::matmul {

// The problem with likely values for its runtime dimensions and strides.
problem likely_problem(const problem &p);

class runtime_desc : public runtime_primitive_desc {
public:
    // likely: the descriptor of likely_problem(p).
    runtime_desc(zemm_engine_t engine, struct problem p, std::unique_ptr<zemm_primitive_desc> likely);

    const zemm_primitive_attr &attr() const override { return problem_.attr; }
    std::unique_ptr<zemm_primitive_desc> clone() const override;
    std::string log_text() const override;

private:
    std::unique_ptr<zemm_primitive_desc> resolved(const tensor_map &tensors) const override;

    problem problem_;
};

} // namespace zemm::matmul
