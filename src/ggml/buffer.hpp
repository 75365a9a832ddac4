// SPDX-License-Identifier: Apache-2.0
// The buffer type whose weights zemm multiplies. A buffer is host memory with the bytes that ggml expects, so
// that ggml's own kernels may read and write it, too. Beside it are copies of weights in zemm's layout: made
// when a whole tensor is set in a buffer of weights, otherwise at the first product, and dropped when bytes
// change.
#pragma once

#include <memory>

#include "ggml/abi.hpp"
#include "ggml/weights.hpp"

namespace zemm_ggml {

// Fills the type. `engine` is that of all buffers.
void init_buffer_type(ggml::buffer_type &, ggml::device *, zemm_engine_t engine);

// The buffer of the tensor, or of what it is a view of; null before it has memory.
ggml::buffer *buffer_of(const ggml::tensor *);

// Whether the weights are in such a buffer, or will be, and can be multiplied by. is_experts: by MUL_MAT_ID.
bool is_in_buffer(const ggml::tensor *, bool is_experts);

// The packed copy of a matrix of the tensor, or of all as experts. Throws std::runtime_error.
std::shared_ptr<const weights> packed_weights(const ggml::tensor *, const shape &, const uint8_t *data);

} // namespace zemm_ggml
