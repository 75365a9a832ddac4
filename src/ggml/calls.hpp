// SPDX-License-Identifier: Apache-2.0
// Products by weights of ggml, and when the host may touch what their launches read and write.
#pragma once

#include <cstddef>
#include <map>
#include <tuple>
#include <vector>

#include "ggml/weights.hpp"

namespace zemm_ggml {

// A matrix of f32 whose rows are contiguous. stride: elements from row to row.
struct rows {
    float *data;
    zemm_dim_t count, stride;
};

// dst has the products of as many rows of src, from row `first` on. Products of one src follow each other.
struct product {
    rows src, dst;
    zemm_dim_t first = 0;
};

// Rows of N of a tensor's weights, counted over all its matrices.
struct matrix {
    const format *form;
    bytes_of bytes;
    zemm_dim_t first, k, n;
};

// Says that no launch is in flight. Whoever reads or writes tensors on the host asks calls for it first, and
// forgets it at the next product.
class quiet {
    friend class calls;
    quiet() = default;
};

// A thread's stream, the memories of its products, and the quantised src of the last one. Weights are packed
// in parts of N, for each product, so that the memory they take has a limit; or they are kept, and packed
// again when their bytes have changed.
class calls {
public:
    calls(zemm_engine_t, bool keeps_weights);
    calls(const calls &) = delete;
    calls &operator=(const calls &) = delete;

    // The team works for the calls that follow, until the next one does.
    void compute_with(const team &);
    const team &threads() const { return *team_; }

    // dst = src * weights, of each of the products. Submits the work; wait() ends it.
    void multiply(const matrix &, const std::vector<product> &);
    quiet wait();
    // As wait(), after a failure, about which it says nothing more.
    void give_up() noexcept;

    // Memory for rows that the caller sorts by experts: valid until the next call of this function.
    float *rows_of_experts(quiet, zemm_dim_t elements);

private:
    struct quantized; // the parts of the scratch
    // The memories of products of a shape. Each product gives them their addresses, which an execution reads
    // when it is submitted. values: of the quantised src.
    struct prepared {
        owned_memory src, values, scales, sums, dst;
    };
    using prepared_key =
        std::tuple<shape, zemm_dim_t, zemm_dim_t, zemm_dim_t>; // rows, strides of src and dst

    // Weights in zemm's layout, and the digest of the bytes they were made of.
    struct kept {
        weights packed;
        uint64_t digest;
    };
    using kept_key = std::tuple<const uint8_t *, zemm_dim_t, shape>; // of a tensor, its first row

    const weights &pack(const matrix &, zemm_dim_t first, const shape &);
    const weights &keep(const matrix &, zemm_dim_t first, const shape &);
    void multiply_part(const weights &, const product &, const rows &dst);
    quantized parts(const weights &, zemm_dim_t rows, zemm_dim_t first);
    const prepared &prepare(const weights &, const rows &src, const rows &dst);
    static void place_quantized(const prepared &, const quantized &);
    void quantize(const weights &, const product &);

    zemm_engine_t engine_;
    owned_stream own_stream_, lent_stream_; // whose work zemm's threads do, or the team's
    zemm_stream_t stream_ = own_stream_.get();
    const team *team_ = nullptr;
    bool keeps_weights_;
    std::map<shape, weights> weights_;
    std::map<kept_key, kept> kept_;
    std::vector<uint8_t> codes_;
    std::vector<std::byte> scratch_;
    std::vector<float> rows_;
    std::map<prepared_key, prepared> prepared_;
    // The contents of the scratch, while nobody may have written to these rows since; group 0: nothing.
    struct {
        rows from;
        zemm_dim_t k, group, sums_group;
    } quantized_{};
};

} // namespace zemm_ggml
