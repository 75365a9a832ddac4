// SPDX-License-Identifier: Apache-2.0
// Weights of a ggml tensor in zemm's layout.
#pragma once

#include <vector>

#include "ggml/primitives.hpp"

namespace zemm_ggml {

// Where a tensor's blocks are. row_bytes: from row to row of N. matrix_bytes: from expert to expert.
struct blocks {
    const uint8_t *data;
    size_t row_bytes, matrix_bytes;
};

// Immutable. Any number of threads may use them at once.
class weights {
public:
    // Reads the blocks and packs them on the stream; they are not needed any more afterwards. scratch: memory
    // that the next weights can use again.
    weights(zemm_engine_t, zemm_stream_t, const shape &, const blocks &, std::vector<uint8_t> &scratch);

    const shape &dims() const { return shape_; }
    const primitives &of() const { return *primitives_; }
    zemm_memory_t packed() const { return packed_.get(); }
    zemm_memory_t scales() const { return scales_.get(); }
    zemm_memory_t offsets() const { return offsets_.get(); } // null if the format has none

    // Writes the codes back into blocks that follow each other, beside their scales and minimums.
    void write_codes(zemm_stream_t, uint8_t *blocks) const;

private:
    shape shape_;
    std::shared_ptr<primitives> primitives_;
    owned_memory packed_, scales_, offsets_;
};

} // namespace zemm_ggml
