// SPDX-License-Identifier: Apache-2.0
// The store of a buffer: packed copies of its weights, and what gives repacked tensors back. Whoever
// calls these functions holds the store's lock, unless they say that they need none.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "ggml/functions.hpp"
#include "ggml/weights.hpp"

namespace zemm_ggml {

using bytes = const uint8_t *;

struct buffer_freer {
    void operator()(ggml::buffer *buffer) const { api.backend_buffer_free(buffer); }
};
using owned_buffer = std::unique_ptr<ggml::buffer, buffer_freer>;

// A packed copy, and the digest of the bytes beside it.
struct kept_weights {
    std::shared_ptr<const weights> packed;
    uint64_t digest;
};

// A tensor that ggml's CPU device has repacked.
struct repacked_tensor {
    ggml::tensor tensor; // a copy
    kept_weights kept;
    std::vector<uint8_t> rest;
};

// The store of a buffer.
struct store {
    owned_buffer memory;  // of ggml's CPU device
    ggml::buffer *buffer; // the buffer itself
    std::mutex lock;
    std::map<std::pair<bytes, shape>, kept_weights> packed; // by first byte
    std::map<bytes, repacked_tensor> repacked;
    std::set<bytes> unpacked;                                // tensors that are not repacked again
    std::map<ggml::buffer_type *, owned_buffer> of_repacked; // what repacked tensors have as their buffer
};

extern zemm_engine_t the_engine; // of all buffers

inline bytes data_of(const ggml::tensor *tensor) {
    return static_cast<bytes>(tensor->data);
}

// The bytes of weights. Needs no lock.
size_t all_bytes(const shape &);

// Of all bytes of small weights, of the first bytes of each row of others. Programs and ggml's CPU device may
// write to host memory without the buffer's functions: this notices rows that they wrote. Needs no lock.
uint64_t digest_of(const shape &, bytes data);

// Bytes change: copies of them are of no use any more.
void drop(store &, bytes first, size_t size);

// Packs weights whose rows follow each other. Throws std::exception. Needs no lock.
std::shared_ptr<const weights> pack(const shape &, bytes data);

// How the weights of a whole tensor are packed before it is known what multiplies by them; no form: not at
// all. Needs no lock.
shape likely_shape(const ggml::tensor *);

// Sets a whole tensor of weights and packs it. It changes nothing if it throws std::exception.
void set_and_pack(store &, ggml::tensor *, const shape &, bytes data);

// The buffer that says to ggml's CPU device that its tensors are repacked. Defined with its functions.
ggml::buffer *buffer_of_repacked(store &, ggml::buffer_type *);

// Throws std::runtime_error if the tensor is not as it was repacked.
void check_untouched(const repacked_tensor &);

// As the tensor was set. Throws std::exception.
std::vector<uint8_t> bytes_of(const repacked_tensor &);

} // namespace zemm_ggml
