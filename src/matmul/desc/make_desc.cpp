// SPDX-License-Identifier: Apache-2.0
// Makes the descriptor of any matmul: grouped, with runtime values, or an ordinary one.
#include "common/env.hpp"
#include "common/error.hpp"
#include "common/verbose.hpp"
#include "matmul/desc/grouped_desc.hpp"
#include "matmul/desc/primitive_desc.hpp"
#include "matmul/desc/runtime_desc.hpp"
#include "primitive/primitive_cache.hpp"

namespace zemm::matmul {

std::unique_ptr<zemm_primitive_desc> make_primitive_desc(zemm_engine_t engine, const memory_desc &src,
                                                         const memory_desc &wei, const memory_desc *bias,
                                                         const memory_desc &dst,
                                                         const zemm_primitive_attr *attr) {
    if (md_is_grouped(src))
        return std::make_unique<grouped_desc>(engine, make_grouped_problem(src, wei, bias, dst, attr));
    const zemm_primitive_attr standard; // once: another thread may change the default fpmath mode
    if (!attr)
        attr = &standard;
    const memory_desc none;
    const std::string key = text("%p,%s,", (void *)engine->device.get(), env("ZEMM_KERNEL").c_str()) +
                            key_bytes({&src, &wei, bias ? bias : &none, &dst}, *attr);
    // Readers of the log see how each descriptor is decided.
    const bool is_logged = verbose::enabled(verbose::dispatch | verbose::plan);
    auto known = is_logged ? nullptr : find_decision(key);
    const bool is_runtime =
        md_has_runtime(src) || md_has_runtime(wei) || md_has_runtime(dst) || (bias && md_has_runtime(*bias));
    std::optional<problem> p;
    if (!known || is_runtime)
        p = make_problem(src, wei, bias, dst, attr);
    if (!known)
        known = keep_decision(key, decide(engine->device, is_runtime ? likely_problem(*p) : *p));
    auto desc =
        std::make_unique<primitive_desc>(engine, std::static_pointer_cast<const decision>(std::move(known)));
    if (!is_runtime)
        return desc;
    return std::make_unique<runtime_desc>(engine, std::move(*p), std::move(desc));
}

} // namespace zemm::matmul
