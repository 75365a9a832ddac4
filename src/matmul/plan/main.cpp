// SPDX-License-Identifier: Apache-2.0
#include "matmul/plan/main.hpp"

#include "matmul/plan/arguments.hpp"

namespace zemm::matmul {

host_values main_values(const plan &made, const problem &p, const operand &reductions) {
    auto values = values_of_problem(p);
    if (reductions.what != operand::none)
        values.set(values.fixed.reductions, reductions);
    if (made.is_split())
        values.set(values.fixed.partials, in_scratchpad(made.partials_at));
    if (p.grouped != grouping::none)
        values.set(values.fixed.groups, table_address);
    return values.made();
}

launch main_launch(const plan &made, const operand &src, const operand &wei, host_values values,
                   std::vector<ze::spec_constant> constants) {
    launch l;
    l.plan = {.kernel = made.row->name,
              .entry = "matmul",
              .constants = std::move(constants),
              .block = shared_bytes::of(made.argument_block),
              .group_size = made.group_size,
              .group_count = made.group_count};
    l.operands = {src, wei, address_of(ZEMM_ARG_DST), block_address, first_values};
    if (made.row->is_xe())
        l.operands[5] = {operand::local, 0, made.local_bytes};
    l.values[0] = std::move(values);
    l.is_repeated = made.has_row_groups();
    return l;
}

launch add_ranges_launch(const plan &made, launch main, std::vector<ze::spec_constant> constants) {
    main.plan.constants = std::move(constants);
    main.plan.block = {}; // the main launch's
    main.plan.group_count = made.finish_count;
    return main;
}

} // namespace zemm::matmul
