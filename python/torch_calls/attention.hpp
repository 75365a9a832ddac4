// SPDX-License-Identifier: Apache-2.0
// Attention of one new token to all tokens of a cache, on the calling thread:
// y = softmax(scale * q k^T) v for each head of q, where `shared` heads of q have the same keys and values.
#pragma once

#include <cstdint>

namespace zemm_torch {

struct attention_t {
    int64_t batch, heads, shared; // heads: of k and v
    int64_t tokens, width;        // width: of a head, a multiple of 16
    int64_t k_strides[3];         // in elements, of sequences, heads and tokens
    int64_t v_strides[3];
    int64_t mask_stride; // of sequences, 0: all have the same mask
    float scale;
};

// q, y: [batch, heads * shared, width]. mask: [.., tokens], 0 for tokens that are left out; null: none is. A
// sequence without tokens gets zeros. scratch: 4 * (tokens + 32) floats.
void attend(const attention_t &a, const float *q, const float *k, const float *v, const uint8_t *mask,
            float *y, float *scratch);

} // namespace zemm_torch
