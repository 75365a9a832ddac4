// SPDX-License-Identifier: Apache-2.0
// Weights in zemm's layout, which exist while a graph's products use them.
#pragma once

#include <vector>

#include "ggml/layout.hpp"
#include "ggml/primitives.hpp"
#include "ggml/team.hpp"

namespace zemm_ggml {

// The memory of some rows of N, and what fills and multiplies it.
class weights {
public:
    weights(zemm_engine_t, const shape &);

    const shape &dims() const { return shape_; }
    const primitives &of() const { return primitives_; }
    zemm_memory_t packed() const { return packed_.get(); }
    zemm_memory_t scales() const { return scales_.get(); }
    zemm_memory_t offsets() const { return offsets_.get(); } // null if the format has none

    // Reads the rows of a tensor from row `first` on, counted over all its matrices, and packs them on the
    // stream. codes: memory that the stream reads. No launch uses it or these weights any more.
    void fill(const team &, zemm_stream_t, const bytes_of &, zemm_dim_t first, std::vector<uint8_t> &codes);

private:
    shape shape_;
    primitives primitives_;
    owned_memory plain_, packed_, scales_, offsets_;
};

} // namespace zemm_ggml
