// SPDX-License-Identifier: Apache-2.0
// The layouts of a problem's weights: the one that a row wants for tag any, and the one that weights
// are copied to before the matmul runs. That is the packed layout, or the row-major one if no kernel
// reads the layout of the weights and the row does not read packed ones. Each is made once, for all
// rows.
#pragma once

#include <memory>
#include <string>

#include "matmul/choose/facts.hpp"
#include "reorder/plan.hpp"
#include "ze/device.hpp"

namespace zemm::matmul {

// How weights are packed into the scratchpad before the matmul runs.
struct weights_packing {
    std::shared_ptr<const laid_out_problem> packed; // the problem that the kernel then runs
    launch_plan move;                               // the launch that packs
    std::string why_not;                            // why that is not possible; "" if it is
};

class layouts {
public:
    // Keeps references to both. converts_packed: also weights that the caller has packed become row-major
    // first.
    layouts(const problem &p, const ze::device &dev, bool converts_packed);

    const problem_facts of_problem;
    // The problem with the weights in the layout that the row wants. Throws if that layout does not
    // exist, such as for a 4-bit type with rows of odd length.
    std::shared_ptr<const laid_out_problem> wanted(const kernel_row &row);
    // Decides whether the weights are packed first, and sets f.packing or f.why_not_packed.
    void pack_first(facts &f);

private:
    enum kind {
        given, // the caller's layout; for tag any the plain one with N innermost
        along_k,
        packed,
        row_major,
        count
    };
    std::shared_ptr<const laid_out_problem> &lay_out_as(kind k);
    bool wants_packed(const kernel_row &row) const;
    std::shared_ptr<const weights_packing> packing_of(const facts &f);

    const problem &p_;
    const ze::device &dev_;
    const bool is_open_; // the caller passed tag any
    const bool converts_packed_;
    std::shared_ptr<const laid_out_problem> made_[count];
    // By the layout of the plain weights; row_major: of others that become row-major.
    std::shared_ptr<const weights_packing> packings_[count];
};

} // namespace zemm::matmul
