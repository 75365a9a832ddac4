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

// The descriptor of any matmul. bias and attr may be NULL. Throws what make_problem() and candidates() throw.
std::unique_ptr<zemm_primitive_desc> make_primitive_desc(zemm_engine_t engine, const memory_desc &src,
                                                         const memory_desc &wei, const memory_desc *bias,
                                                         const memory_desc &dst,
                                                         const zemm_primitive_attr *attr);

} // namespace zemm::matmul
