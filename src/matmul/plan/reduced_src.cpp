// SPDX-License-Identifier: Apache-2.0
#include "matmul/plan/reduced_src.hpp"

#include <algorithm>

#include "common/attr.hpp"
#include "kernels/matmul_args.h"
#include "primitive/launch.hpp"

namespace zemm::matmul {

memory_desc reductions_md(const problem &p, zemm_dim_t segment) {
    zemm_dims_t dims;
    std::copy(p.src.dims, p.src.dims + p.ndims(), dims);
    dims[p.ndims() - 1] = checked_ceil_div(p.k(), segment, "K");
    return md_dense(p.ndims(), dims, zemm_s32);
}

launch reduce_launch(const facts &f, const memory_desc &reductions, const operand &src, const operand &to) {
    const problem &p = f.run();
    launch l;
    l.plan.kernel = "reduce_src";
    l.plan.constants = {{SPEC_SRC_DT, uint32_t(p.src.data_type)}, {SPEC_SRC_UNIT, f.src_unit}};
    l.plan.group_count = {work_groups(reductions.dims[p.ndims() - 1], REDUCE_SEGMENTS, "K"),
                          work_groups(f.rows.all, 1, "M"), 1};
    l.operands = {src, to, block_address};
    return l;
}

} // namespace zemm::matmul
