// SPDX-License-Identifier: Apache-2.0
// Executions of matmuls by packed weights, and when the host may touch what these read and write.
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

// Says that no launch is in flight. Whoever reads or writes tensors on the host asks calls for it first, and
// forgets it at the next product.
class quiet {
    friend class calls;
    quiet() = default;
};

// A thread's stream, and the quantised src of its last product.
class calls {
public:
    explicit calls(zemm_engine_t);

    // dst = src * weights. Submits the work; wait() ends it.
    void multiply(const weights &, const rows &src, const rows &dst);
    // Likewise, each row by the matrix of its expert. ends: E values, where the rows of each expert end; they
    // are read until wait().
    void multiply_groups(const weights &, const rows &src, const rows &dst, const int32_t *ends);
    quiet wait();
    // As wait(), after a failure, about which it says nothing more.
    void give_up() noexcept;

    // Memory for rows that the caller sorts by experts: valid until the next call of this function.
    float *rows_of_experts(quiet, zemm_dim_t elements);

private:
    struct quantized; // the parts of the scratch
    quantized parts(const weights &, zemm_dim_t rows);
    void quantize(const weights &, const rows &src);
    void execute(const weights &, zemm_primitive_t, zemm_dim_t rows, owned_memory values, owned_memory dst);

    zemm_engine_t engine_;
    owned_stream stream_;
    std::vector<std::byte> scratch_;
    std::vector<float> rows_;
    // The contents of the scratch, while nobody may have written to these rows since; group 0: nothing.
    struct {
        rows from;
        zemm_dim_t k, group, sums_group;
    } quantized_{};
};

} // namespace zemm_ggml
