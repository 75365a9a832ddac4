// SPDX-License-Identifier: Apache-2.0
// A reorder's primitive descriptor: arguments, queries and creation.
#include "reorder/primitive_desc.hpp"

#include "common/error.hpp"
#include "common/names.hpp"
#include "primitive/launch_plan.hpp"
#include "reorder/launches.hpp"

namespace zemm::reorder {

zemm_engine_t engine_of(zemm_engine_t src, zemm_engine_t dst) {
    if (src->device != dst->device)
        fail(zemm_unimplemented,
             "src_engine and dst_engine are different devices (%s, %s): copy with zemm_memory_map_data() and "
             "reorder on one of them",
             src->device->name.c_str(), dst->device->name.c_str());
    return dst;
}

bool answer_engine(zemm_query_t what, zemm_engine_t src, zemm_engine_t dst, void *result) {
    if (what != zemm_query_reorder_src_engine && what != zemm_query_reorder_dst_engine)
        return false;
    *static_cast<zemm_engine_t *>(result) = what == zemm_query_reorder_src_engine ? src : dst;
    return true;
}

argument_map arguments_of(const problem &p, zemm_engine_t src_engine, zemm_engine_t dst_engine) {
    argument_map map;
    map[ZEMM_ARG_FROM] = {.md = p.src, .engine = src_engine};
    map[ZEMM_ARG_TO] = {.md = p.dst, .engine = dst_engine};
    quant_map zero_points = p.attr.zero_points;
    if (p.is_dynamic())
        for (auto &[arg, e] : zero_points)
            e = zero_points_entry(p);
    const auto tensor_of = [&](int arg) -> const memory_desc & { return p.tensor(arg); };
    add_parameters(map, ZEMM_ARG_ATTR_SCALES, p.attr.scales, tensor_of);
    add_parameters(map, ZEMM_ARG_ATTR_ZERO_POINTS, zero_points, tensor_of);
    add_parameters(map, ZEMM_ARG_ATTR_PRECOMPUTED_REDUCTIONS, p.attr.precomputed_reductions, tensor_of);
    for (int flag : {ZEMM_ARG_ATTR_ZERO_POINTS, ZEMM_ARG_ATTR_PRECOMPUTED_REDUCTIONS})
        if (map.contains(flag | ZEMM_ARG_DST))
            map[flag | ZEMM_ARG_DST].is_result = p.is_dynamic();
    if (p.rounds_at_random())
        add_number(map, ZEMM_ARG_ATTR_ROUNDING_SEED, zemm_s32, false);
    return map;
}

primitive_desc::primitive_desc(struct problem p, zemm_engine_t s, zemm_engine_t d)
    : zemm_primitive_desc(engine_of(s, d)), problem(std::make_shared<const struct problem>(std::move(p))),
      src_engine(s->shared_from_this()), dst_engine(d->shared_from_this()),
      kernels(std::make_shared<const std::vector<std::pair<const implementation *, launch_plan>>>(
          candidates(*problem, *engine->device))) {
    arguments = arguments_of(*problem, s, d);
}

std::unique_ptr<zemm_primitive_desc> primitive_desc::clone() const {
    return std::make_unique<primitive_desc>(*this);
}

sequence primitive_desc::launches() const {
    sequence made;
    if (empty())
        return made;
    made.add_last(reorder_launch((*kernels)[chosen].second, address_of(ZEMM_ARG_FROM),
                                 address_of(ZEMM_ARG_TO), *problem));
    if (engine->kind == zemm_gpu) // CPUs have no build flags
        made.set_flags(gpu_build_flags(is_large(problem->src) || is_large(problem->dst)));
    return made;
}

std::vector<ze::kernel_source> primitive_desc::sources() const {
    return launches().sources();
}

bool primitive_desc::next_impl() {
    if (chosen + 1 == kernels->size())
        return false;
    ++chosen;
    return true;
}

std::unique_ptr<zemm_primitive> primitive_desc::create(cache_result &where) const {
    auto shared = get_sequence(*this, where, [&] { return launches(); });
    return std::make_unique<sequence_primitive>(clone(), std::move(shared), copy_launch);
}

void primitive_desc::query(zemm_query_t what, int index, void *result) const {
    if (!answer_engine(what, src_engine.get(), dst_engine.get(), result))
        zemm_primitive_desc::query(what, index, result);
}

std::string log_text_of(const problem &p, zemm_engine_kind_t engine, const char *impl_name,
                        const std::string &aux) {
    return text("%s,reorder,%s,undef,%s %s,%s,%s,%s", engine_kind_name(engine), impl_name,
                md_text("src", p.src).c_str(), md_text("dst", p.dst).c_str(), attr_text(p.attr).c_str(),
                aux.c_str(), dims_text(p.src).c_str());
}

std::string primitive_desc::log_text() const {
    return log_text_of(*problem, engine->kind, impl_name(), "");
}

} // namespace zemm::reorder
