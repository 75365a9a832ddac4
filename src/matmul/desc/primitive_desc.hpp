// SPDX-License-Identifier: Apache-2.0
// A matmul's primitive descriptor: a problem, the kernels that take it, and the one chosen.
#pragma once

#include <memory>
#include <vector>

#include "matmul/choose/dispatch.hpp"
#include "matmul/plan/arguments.hpp"
#include "matmul/plan/plan.hpp"
#include "matmul/problem/problem.hpp"
#include "primitive/primitive_desc.hpp"

namespace zemm::matmul {

// The part of a log line that zemm_primitive_desc::log_text() describes. aux: oneDNN's field of that
// name.
std::string log_text_of(const problem &p, zemm_engine_kind_t engine, const char *impl_name,
                        const std::string &aux);

class primitive_desc : public zemm_primitive_desc {
public:
    // Throws what make_problem and candidates throw.
    primitive_desc(zemm_engine_t engine, struct problem p);

    zemm_primitive_kind_t kind() const override { return zemm_matmul; }
    const zemm_primitive_attr &attr() const override { return asked().attr; }
    const char *impl_name() const override { return plan.row->name; }
    bool empty() const override { return kernels[chosen].asked.empty; }
    std::unique_ptr<zemm_primitive_desc> clone() const override;
    bool next_impl() override;
    std::unique_ptr<zemm_primitive> create(cache_result &found) const override;
    std::vector<ze::kernel_source> sources() const override;
    std::vector<const memory_desc *> key_tensors() const override {
        return {&asked().src, &asked().wei, &asked().bias, &asked().dst};
    }
    std::string key_text() const override;
    std::string tuning_text() const override;
    std::string log_text() const override;

    std::vector<candidate> kernels;
    size_t chosen = 0;
    struct plan plan; // for the chosen kernel
    const struct problem &asked() const { return kernels[chosen].problem(); }

private:
    // index: into kernels. If it throws, nothing has changed.
    void choose(size_t index, struct plan new_plan);
};

} // namespace zemm::matmul
