// SPDX-License-Identifier: Apache-2.0
// The primitive descriptor of a matmul in steps.
#pragma once

#include <memory>
#include <vector>

#include "matmul/desc/primitive_desc.hpp"
#include "matmul/plan/steps.hpp"
#include "primitive/primitive_cache.hpp"

namespace zemm::matmul {

class steps_desc : public zemm_primitive_desc {
public:
    // Throws what make_steps() and candidates() throw.
    steps_desc(zemm_engine_t engine, struct problem p);
    steps_desc(const steps_desc &other);

    zemm_primitive_kind_t kind() const override { return zemm_matmul; }
    const zemm_primitive_attr &attr() const override { return problem.attr; }
    // That of the matmul in the middle.
    const char *impl_name() const override;
    bool empty() const override { return problem.empty(); }
    std::unique_ptr<zemm_primitive_desc> clone() const override;
    bool next_impl() override;
    std::unique_ptr<zemm_primitive> create(cache_result &found) const override;
    std::vector<ze::kernel_source> sources() const override;
    std::vector<const memory_desc *> key_tensors() const override {
        return {&problem.src, &problem.wei, &problem.bias, &problem.dst};
    }
    std::string key_text() const override;
    std::string tuning_text() const override; // of the matmul in the middle
    std::string log_text() const override;

    struct problem problem; // weights with the layout that the matmul in the middle wants
    struct steps steps;
    std::unique_ptr<primitive_desc> inner; // the matmul in the middle; nullptr for f64

private:
    void take_from_inner();
};

// The descriptor of a problem without runtime values.
std::unique_ptr<zemm_primitive_desc> make_static_desc(zemm_engine_t engine, problem p);

} // namespace zemm::matmul
