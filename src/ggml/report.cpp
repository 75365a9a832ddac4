// SPDX-License-Identifier: Apache-2.0
#include "ggml/report.hpp"

#include "ggml/functions.hpp"
#include "ggml/layout.hpp"

namespace zemm_ggml {

namespace {

const char *text_of(reason why) {
    switch (why) {
    case reason::no_engine:
        return "zemm has no CPU device (an earlier line says why)";
    case reason::other_type:
        return "weights or activations of a type or layout that zemm does not multiply";
    case reason::no_gain:
        return "types that ggml is as fast with (GGML_ZEMM_ALL_TYPES=1 takes them)";
    case reason::few_rows:
        return "too few rows (GGML_ZEMM_LEAST_ROWS)";
    case reason::made_in_graph:
        return "weights that the graph makes";
    case reason::not_readable:
        return "weights in buffers of another device, or repacked in a way that zemm does not know";
    default:
        return "";
    }
}

} // namespace

void report::count(const ggml::tensor *product) {
    const ggml::tensor *const w = product->src[0];
    if (products_++ == 0)
        log(ggml::log_info, "multiplies: %lld rows by %s (%s%s)", static_cast<long long>(product->ne[1]),
            w->name, api.type_name(w->type),
            buffer_of(w) && is_repacker(buffer_of(w)->buft) ? ", repacked by ggml" : "");
    const std::lock_guard hold(lock_);
    weights_.emplace(w->name);
}

void report::leave(reason why) {
    ++left_[size_t(why)];
}

void report::write() {
    const std::lock_guard hold(lock_);
    const int64_t products = products_;
    if (products == written_)
        return;
    written_ = products;
    if (products > 0) {
        log(ggml::log_info, "multiplied %lld times, by %zu weights", static_cast<long long>(products),
            weights_.size());
        return;
    }
    std::string why;
    for (size_t i = 1; i < left_.size(); ++i)
        if (left_[i] > 0)
            why += (why.empty() ? "" : "; ") + std::string(text_of(reason(i)));
    log(ggml::log_warn, "multiplied nothing: %s",
        why.empty() ? "no graph with products was given to it" : why.c_str());
}

} // namespace zemm_ggml
