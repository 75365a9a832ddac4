// SPDX-License-Identifier: Apache-2.0
// The nodes of a graph that the backend computes: MUL_MAT and MUL_MAT_ID with quantised weights.
#pragma once

#include <stdexcept>

#include "ggml/abi.hpp"
#include "ggml/calls.hpp"

namespace zemm_ggml {

// What no backend can compute.
struct wrong_graph : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Whether multiply() takes the node, whose tensors may have no memory yet.
bool is_supported(const ggml::tensor *node);

// Whether the node is a product, of whatever.
bool is_product(const ggml::tensor *node);

// Whether the node multiplies each row by experts of its own.
bool has_experts(const ggml::tensor *node);

// The rows of src that the node multiplies by each of the matrices it reads, on average: these are packed for
// them.
int64_t rows_of_a_matrix(const ggml::tensor *node);

// Whether the node only names a part of another tensor.
bool is_view(const ggml::tensor *node);

// Submits the node's work. Throws wrong_graph, or another std::exception if zemm fails.
void multiply(calls &, const ggml::tensor *node);

} // namespace zemm_ggml
