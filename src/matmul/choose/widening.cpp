// SPDX-License-Identifier: Apache-2.0
#include "matmul/choose/widening.hpp"

#include "common/error.hpp"
#include "matmul/choose/cpu_rules.hpp"
#include "primitive/launch.hpp"

namespace zemm::matmul {

namespace {

// The type of floats that the row multiplies.
zemm_data_type_t multiplied_type(const kernel_row &row) {
    if (row.multiplies == operands::f32)
        return zemm_f32;
    return row.traits().half_is_f16 ? zemm_f16 : zemm_bf16;
}

} // namespace

std::shared_ptr<const src_widening> widen_first(const facts &f, const ze::device &dev) {
    if (f.empty || f.family.is_xe() || dev.kind != zemm_cpu || !is_small_float(f.run().src.data_type) ||
        !is_worth_widening(f))
        return nullptr;
    auto result = std::make_shared<src_widening>();
    problem wide = f.run();
    wide.src = md_with_strides(wide.ndims(), wide.src.dims, multiplied_type(*f.row), nullptr);
    const problem_facts of_problem = facts_of(wide);
    result->wide =
        facts_of(*f.row, of_problem, std::make_shared<const laid_out_problem>(wide, wide.wei, of_problem));
    return result;
}

} // namespace zemm::matmul
