// SPDX-License-Identifier: Apache-2.0
// The buffer type whose weights zemm multiplies. A buffer is host memory with the bytes that ggml expects, so
// that ggml's own kernels may read and write it, too. Of usage WEIGHTS, it keeps copies of weights in zemm's
// layout: made when a whole tensor is set, otherwise at the first product, and dropped when bytes change. All
// other weights are packed at each product.
#pragma once

#include <memory>

#include "ggml/abi.hpp"
#include "ggml/calls.hpp"
#include "ggml/weights.hpp"

namespace zemm_ggml {

// Fills the type. `engine` is that of all buffers.
void init_buffer_type(ggml::buffer_type &, ggml::device *, zemm_engine_t engine);

// The tensor, or what it is a view of.
const ggml::tensor *whole_of(const ggml::tensor *);

// The buffer of the tensor, or of what it is a view of; null before it has memory.
ggml::buffer *buffer_of(const ggml::tensor *);

// Whether the weights are in a buffer of zemm's, or will be.
bool is_in_buffer(const ggml::tensor *);

// Whether that buffer keeps packed copies of them: not of those that are trained.
bool is_kept(const ggml::tensor *);

// Throws std::runtime_error unless the host can read and write the tensor's bytes.
void check_memory(const ggml::tensor *);

// Whether ggml's CPU device has repacked the weights, for products only.
bool is_repacked(const ggml::tensor *);

// Gives a repacked tensor ggml's bytes back, for good. Throws std::exception.
void unpack(ggml::tensor *);

// The packed copy of a matrix of the tensor, which begins `at` bytes into it, or of all as experts. Waits for
// launches before it reads bytes that these may write. Throws std::exception.
std::shared_ptr<const weights> packed_weights(calls &, ggml::tensor *, const shape &, size_t at);

} // namespace zemm_ggml
