// SPDX-License-Identifier: Apache-2.0
#include "matmul/primitive_desc.hpp"

#include "common/error.hpp"
#include "zemm/zemm.h"

using namespace zemm;

zemm_primitive_desc::zemm_primitive_desc(zemm_engine_t e, matmul::problem p)
    : engine(e), problem(std::make_shared<const matmul::problem>(std::move(p))),
      kernels(matmul::candidates(*problem, *e->device)) {
    choose(0);
}

void zemm_primitive_desc::choose(size_t index) {
    matmul::plan new_plan = matmul::make_plan(*problem, *kernels[index]);
    memory_desc new_scratchpad;
    if (problem->attr.scratchpad_mode == zemm_scratchpad_mode_user && new_plan.scratchpad_size) {
        const zemm_dim_t size = zemm_dim_t(new_plan.scratchpad_size);
        new_scratchpad = md_with_tag(1, &size, zemm_u8, zemm_a);
    }
    arguments = matmul::arguments_of(*problem, new_scratchpad);
    // From here on nothing throws: a failure leaves the descriptor as it was.
    scratchpad = new_scratchpad;
    plan = std::move(new_plan);
    chosen = index;
}

bool zemm_primitive_desc::next_impl() {
    if (chosen + 1 == kernels.size())
        return false;
    choose(chosen + 1);
    return true;
}

const memory_desc &zemm_primitive_desc::query_md(zemm_query_t what, int index) const {
    static const memory_desc none;
    const auto argument = [&](int arg) -> const memory_desc & {
        const auto found = arguments.find(arg);
        return found == arguments.end() ? none : found->second.md;
    };
    switch (what) {
    case zemm_query_src_md:
        return index == 0 ? problem->src : none;
    case zemm_query_weights_md:
        return index == 0 ? problem->wei : index == 1 ? problem->bias : none;
    case zemm_query_dst_md:
        return index == 0 ? problem->dst : none;
    case zemm_query_scratchpad_md:
        return index == 0 ? scratchpad : none;
    case zemm_query_exec_arg_md:
        return argument(index);
    default:
        return none;
    }
}

void zemm_primitive_desc::query(zemm_query_t what, int index, void *result) const {
    switch (what) {
    case zemm_query_engine:
    case zemm_query_scratchpad_engine:
        *static_cast<zemm_engine_t *>(result) = engine;
        return;
    case zemm_query_primitive_kind:
        *static_cast<zemm_primitive_kind_t *>(result) = zemm_matmul;
        return;
    case zemm_query_num_of_inputs_s32:
        *static_cast<int *>(result) = num_of_inputs(arguments);
        return;
    case zemm_query_num_of_outputs_s32:
        *static_cast<int *>(result) = 1;
        return;
    case zemm_query_memory_consumption_s64:
        *static_cast<int64_t *>(result) = md_is_zero(scratchpad) ? int64_t(plan.scratchpad_size) : 0;
        return;
    case zemm_query_impl_info_str:
        *static_cast<const char **>(result) = kernels[chosen]->name;
        return;
    case zemm_query_cache_blob_id_size_s64:
        *static_cast<int64_t *>(result) = 0;
        return;
    case zemm_query_cache_blob_id:
        *static_cast<const uint8_t **>(result) = nullptr;
        return;
    case zemm_query_some_md:
    case zemm_query_src_md:
    case zemm_query_diff_src_md:
    case zemm_query_weights_md:
    case zemm_query_diff_weights_md:
    case zemm_query_dst_md:
    case zemm_query_diff_dst_md:
    case zemm_query_workspace_md:
    case zemm_query_scratchpad_md:
    case zemm_query_exec_arg_md:
        *static_cast<const_zemm_memory_desc_t *>(result) = &query_md(what, index);
        return;
    default:
        fail(zemm_unimplemented, "a matmul primitive descriptor does not answer query %d", int(what));
    }
}

namespace {

// The dimensions in which the bias is dst's, as the log writes them.
int bias_mask(const matmul::problem &p) {
    int mask = 0;
    for (int d = 0; d < p.ndims(); ++d)
        mask |= (p.bias.dims[d] != 1) << d;
    return mask;
}

} // namespace

std::string zemm_primitive_desc::log_text() const {
    const matmul::problem &p = *problem;
    std::string mds = md_text("src", p.src, p.was_any.src) + " " + md_text("wei", p.wei, p.was_any.wei);
    if (p.has_bias())
        mds += " " + md_text("bia", p.bias, p.was_any.bias) + text("_mask%d", bias_mask(p));
    mds += " " + md_text("dst", p.dst, p.was_any.dst);
    return text("%s,matmul,%s,undef,%s,%s,,%s", zemm_engine_kind2str(engine->kind), kernels[chosen]->name,
                mds.c_str(), attr_text(p.attr).c_str(), dims_line(p).c_str());
}
