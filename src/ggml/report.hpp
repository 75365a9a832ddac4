// SPDX-License-Identifier: Apache-2.0
// What the backend did, which it writes into ggml's log: a backend that does nothing looks like one that
// works.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <set>
#include <string>

#include "ggml/abi.hpp"

namespace zemm_ggml {

// Why a product is left to ggml.
enum class reason { none, no_engine, other_type, no_gain, few_rows, made_in_graph, not_readable, last };

class report {
public:
    void count(const ggml::tensor *product); // that was computed
    void leave(reason);                      // a product of a graph that is planned
    void write();
    int64_t products() const { return products_; }

private:
    std::atomic<int64_t> products_{0};
    std::array<std::atomic<int64_t>, size_t(reason::last)> left_{};
    std::mutex lock_;
    std::set<std::string> weights_; // names of those that were multiplied
    int64_t written_ = -1;          // products of the last line
};

} // namespace zemm_ggml
