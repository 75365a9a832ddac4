// SPDX-License-Identifier: Apache-2.0
// A matmul's primitive descriptor: a problem, the kernels that take it, and the one chosen. And the
// primitive.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "matmul/choose/dispatch.hpp"
#include "matmul/plan/arguments.hpp"
#include "matmul/plan/group_table.hpp"
#include "matmul/plan/plan.hpp"
#include "matmul/plan/steps.hpp"
#include "matmul/problem/problem.hpp"
#include "primitive/primitive_cache.hpp"
#include "primitive/sequence.hpp"

namespace zemm::matmul {

// The part of a log line that zemm_primitive_desc::log_text() describes. aux: oneDNN's field of that
// name.
std::string log_text_of(const problem &p, zemm_engine_kind_t engine, const char *impl_name,
                        const std::string &aux);

// How a problem is computed on a device: the kernels that take it, the one that is chosen, and what its
// executions need. It never changes, so descriptors, primitives and the primitive cache share it.
struct decision : cached {
    using cached::cached;

    std::optional<struct steps> steps; // if no row of kernels.def computes the problem alone
    // Of the problem, or of the one in the middle of the steps. None for f64.
    std::shared_ptr<const std::vector<candidate>> kernels;
    size_t chosen = 0;
    struct plan plan = {};                    // for the chosen kernel
    std::shared_ptr<const sequence> launches; // all of them; none for an empty problem
    argument_map arguments;
    memory_desc scratchpad;
    size_t scratchpad_size = 0;

    // The problem, and the one that the chosen kernel runs. They differ where there are steps.
    const struct problem &asked() const { return steps ? steps->asked : of_kernel(); }
    const candidate &kernel() const { return (*kernels)[chosen]; }
    const struct problem &of_kernel() const { return kernel().problem(); }
};

// Throws what make_steps() and candidates() throw.
std::shared_ptr<const decision> decide(const std::shared_ptr<ze::device> &dev, const problem &p);

class primitive_desc : public zemm_primitive_desc {
public:
    primitive_desc(zemm_engine_t engine, struct problem p); // throws what decide() throws
    primitive_desc(zemm_engine_t engine, std::shared_ptr<const decision> made);

    zemm_primitive_kind_t kind() const override { return zemm_matmul; }
    const zemm_primitive_attr &attr() const override { return asked().attr; }
    const char *impl_name() const override {
        return decided->plan.row ? decided->plan.row->name : "matmul_f64";
    }
    bool empty() const override { return asked().empty(); }
    std::unique_ptr<zemm_primitive_desc> clone() const override;
    bool next_impl() override;
    std::unique_ptr<zemm_primitive> create(cache_result &found) const override;
    std::vector<ze::kernel_source> sources() const override { return decided->launches->sources(); }
    std::vector<const memory_desc *> key_tensors() const override {
        return {&asked().src, &asked().wei, &asked().bias, &asked().dst};
    }
    std::string key_text() const override;
    std::string tuning_text() const override;
    std::string log_text() const override;

    const struct problem &asked() const { return decided->asked(); }

    std::shared_ptr<const decision> decided;

private:
    void take(std::shared_ptr<const decision> made); // if it throws, nothing has changed
};

class primitive : public sequence_primitive {
public:
    using sequence_primitive::sequence_primitive;

    // Checks sparse tensors, and the probability of dropout.
    std::unique_ptr<const values> read_values(ze::stream &stream, const memory_map &memories,
                                              std::span<const ze_event_handle_t> waits) const override;
    void run(ze::stream &stream, const memory_map &memories, const values *,
             std::span<const ze_event_handle_t> waits) const override {
        run_groups(stream, memories, nullptr, waits);
    }
    // groups: the table of a grouped matmul.
    void run_groups(ze::stream &stream, const memory_map &memories, const group_table *groups,
                    std::span<const ze_event_handle_t> waits) const;
};

// The descriptor of any matmul. bias and attr may be NULL. Throws what make_problem() and candidates() throw.
std::unique_ptr<zemm_primitive_desc> make_primitive_desc(zemm_engine_t engine, const memory_desc &src,
                                                         const memory_desc &wei, const memory_desc *bias,
                                                         const memory_desc &dst,
                                                         const zemm_primitive_attr *attr);

} // namespace zemm::matmul
