// SPDX-License-Identifier: Apache-2.0
// The primitive descriptor: a problem, the kernels that take it, and the one chosen.
#pragma once

#include <memory>
#include <vector>

#include "common/objects.hpp"
#include "matmul/arguments.hpp"
#include "matmul/dispatch.hpp"
#include "matmul/plan.hpp"
#include "matmul/problem.hpp"

struct zemm_primitive_desc {
    // Throws what make_problem and candidates throw.
    zemm_primitive_desc(zemm_engine_t engine, zemm::matmul::problem problem);

    // False at the end of the list, with no change.
    bool next_impl();

    // The descriptor of a zemm_query_..._md; a zero descriptor where the query does not apply.
    const zemm::memory_desc &query_md(zemm_query_t what, int index) const;
    // Answers the queries of values; unimplemented for those that a matmul does not have.
    void query(zemm_query_t what, int index, void *result) const;

    zemm_engine_t engine;
    std::shared_ptr<const zemm::matmul::problem> problem;
    std::vector<const zemm::matmul::kernel_row *> kernels;
    size_t chosen = 0;
    zemm::matmul::plan plan;              // of the chosen kernel
    zemm::memory_desc scratchpad;         // the caller's, in user mode; else a zero descriptor
    zemm::matmul::argument_map arguments; // of an execution

    // The log's line from the implementation's name to the dimensions.
    std::string log_text() const;

private:
    void choose(size_t index); // of kernels; all or nothing
};
