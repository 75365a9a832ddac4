// SPDX-License-Identifier: Apache-2.0
// The nodes of a graph that the backend computes: MUL_MAT and MUL_MAT_ID with quantised weights.
#pragma once

#include "ggml/abi.hpp"
#include "ggml/calls.hpp"

namespace zemm_ggml {

// Whether multiply() takes the node, whose tensors may have no memory yet.
bool is_supported(const ggml::tensor *node);

// The rows of src that the node multiplies.
int64_t rows_of(const ggml::tensor *node);

// Whether the node only names a part of another tensor.
bool is_view(const ggml::tensor *node);

// Repacked weights serve products of ggml's CPU device only. Gives those that the node uses otherwise ggml's
// bytes back. Throws std::exception.
void unpack_what_others_use(const ggml::tensor *node);

// Submits the node's work. Throws std::exception.
void multiply(calls &, const ggml::tensor *node);

} // namespace zemm_ggml
