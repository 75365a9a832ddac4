// SPDX-License-Identifier: Apache-2.0
// ggml's CPU device repacks weights for its kernels of few rows ("extra buffer types"), and cannot give them
// back. Tensors of zemm's buffers are repacked in this way, and are given back from zemm's copy of their
// codes and from the rest of their bytes.
#pragma once

#include <vector>

#include "ggml/abi.hpp"
#include "ggml/weights.hpp"

namespace zemm_ggml {

// A buffer of the type that ggml's CPU device would choose for the weights, whose functions repack: or null,
// if it would not repack them, or if they could not be given back. is_experts: of MUL_MAT_ID.
ggml::buffer *find_repacker(const ggml::tensor &, const format &, bool is_experts);

// Whether tensors of the type may be repacked ones of zemm's buffers.
bool is_repacker(const ggml::buffer_type *);

// The blocks without their codes: all bytes of scales and minimums, block by block.
std::vector<uint8_t> rest_of(const format &, const uint8_t *blocks, size_t bytes);

// The blocks as they were set.
std::vector<uint8_t> restore(const weights &, zemm_stream_t, const std::vector<uint8_t> &rest, size_t bytes);

} // namespace zemm_ggml
