// SPDX-License-Identifier: Apache-2.0
// The primitives that multiply by weights of one shape and format. src is f32 and is quantised to s8 on the
// device, with a scale for each group of K and, if the weights have offsets, the sums of the groups: these
// are the matmul's precomputed reductions (oneDNN's RFC).
#pragma once

#include <compare>

#include "client/handles.hpp"
#include "ggml/formats.hpp"

namespace zemm_ggml {

using namespace zemm_client;

// Weights [K, N].
struct shape {
    const format *form;
    zemm_dim_t k, n;

    auto operator<=>(const shape &) const = default;
};

owned_md dense(std::initializer_list<zemm_dim_t> dims, zemm_data_type_t);
owned_md strided(std::initializer_list<zemm_dim_t> dims, zemm_data_type_t,
                 std::initializer_list<zemm_dim_t> strides);

owned_memory memory_of(const_zemm_memory_desc_t, zemm_engine_t, void *handle);

class primitives {
public:
    primitives(zemm_engine_t, const shape &);

    zemm_dim_t src_group() const { return src_group_; }
    zemm_dim_t sums_group() const { return sums_group_; } // 0: no sums
    zemm_primitive_t quantize() const { return quantize_.get(); }
    // Of any number of rows.
    zemm_primitive_t matmul() const { return matmul_.get(); }
    // From plain codes to packed ones.
    zemm_primitive_t pack() const { return pack_.get(); }
    const_zemm_memory_desc_t packed() const { return packed_.get(); }
    owned_md plain() const;      // as ggml has them: K is contiguous
    owned_md parameters() const; // scales and offsets, [K / group, N]

private:
    owned_attr attributes() const;

    shape shape_;
    zemm_dim_t src_group_, sums_group_;
    owned_primitive quantize_, matmul_, pack_;
    owned_md packed_;
};

} // namespace zemm_ggml
