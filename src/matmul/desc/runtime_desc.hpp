// SPDX-License-Identifier: Apache-2.0
// The primitive descriptor of a matmul with runtime dimensions or strides.
#pragma once

#include "matmul/problem/problem.hpp"
#include "primitive/runtime.hpp"

namespace zemm::matmul {

class runtime_desc : public runtime_primitive_desc {
public:
    // Throws what candidates() throws.
    runtime_desc(zemm_engine_t engine, struct problem p);

    const zemm_primitive_attr &attr() const override { return problem_.attr; }
    std::unique_ptr<zemm_primitive_desc> clone() const override;
    std::string log_text() const override;

private:
    std::unique_ptr<zemm_primitive_desc> resolved(const tensor_map &tensors) const override;

    problem problem_;
};

} // namespace zemm::matmul
