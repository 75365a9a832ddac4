// SPDX-License-Identifier: Apache-2.0
// Executions of matmuls by packed weights.
#pragma once

#include <cstddef>
#include <vector>

#include "ggml/weights.hpp"

namespace zemm_ggml {

// A matrix of f32 whose rows are contiguous. stride: elements from row to row.
struct rows {
    float *data;
    zemm_dim_t count, stride;
};

// What a thread keeps to multiply: its stream, and the quantised src of the last call.
class calls {
public:
    explicit calls(zemm_engine_t);

    // dst = src * weights. Submits the work; wait() ends it. same_src: that of the last call, unchanged.
    void multiply(const weights &, const rows &src, const rows &dst, bool same_src);
    // Likewise, each row by the matrix of its expert. ends: E values, where the rows of each expert end.
    void multiply_groups(const weights &, const rows &src, const rows &dst, const int32_t *ends);
    void wait();

    // Memory for rows that the caller sorts by experts: valid until the next call of this function.
    float *rows_of_experts(zemm_dim_t elements);

private:
    struct quantized; // the parts of the scratch
    quantized parts(const weights &, zemm_dim_t rows);
    void quantize(const weights &, const rows &src, bool same_src);
    void execute(const weights &, zemm_primitive_t, zemm_dim_t rows, owned_memory values, owned_memory dst);

    zemm_engine_t engine_;
    owned_stream stream_;
    std::vector<std::byte> scratch_;
    std::vector<float> rows_;
    zemm_dim_t group_ = 0, sums_group_ = 0; // of what the scratch has
};

} // namespace zemm_ggml
