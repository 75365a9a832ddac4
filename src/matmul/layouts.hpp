// SPDX-License-Identifier: Apache-2.0
// The layouts of a problem's weights: those that rows want where the caller left it open, and the packed one
// that plain weights get in the scratchpad before the matmul runs. Each is made once, for all rows.
#pragma once

#include <memory>
#include <string>

#include "matmul/facts.hpp"
#include "reorder/plan.hpp"
#include "ze/device.hpp"

namespace zemm::matmul {

// Plain weights that are packed into the scratchpad before the matmul runs.
struct weights_packing {
    std::shared_ptr<const laid_out_problem> packed; // as the row's kernel runs it
    reorder::plan move;
    std::string why_not; // it cannot be done; else empty
};

class layouts {
public:
    // Refers to the problem.
    layouts(const problem &p, const ze::device &dev);

    const problem_facts of_problem;
    // With the layout that the row wants. Throws if it does not exist, such as odd rows of a 4-bit type.
    std::shared_ptr<const laid_out_problem> wanted(const kernel_row &row);
    // Decides whether the weights are packed first.
    void pack_first(facts &f);

private:
    enum kind {
        given, // by the caller; rows of N where it left the layout open
        along_k,
        packed,
        count
    };
    std::shared_ptr<const laid_out_problem> &lay_out_as(kind k);
    std::shared_ptr<const weights_packing> packing_of(const facts &f);

    const problem &p_;
    const ze::device &dev_;
    const bool is_open_; // the caller left the layout open
    std::shared_ptr<const laid_out_problem> made_[count];
    std::shared_ptr<const weights_packing> packings_[count]; // of the plain ones
};

} // namespace zemm::matmul
