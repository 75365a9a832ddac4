// SPDX-License-Identifier: Apache-2.0
#include "matmul/choose/split.hpp"

#include <algorithm>

#include "common/error.hpp"
#include "matmul/choose/kernel_row.hpp"

namespace zemm::matmul {

zemm_dim_t split::sub_groups() const {
    return std::max(tiles(), slices);
}

zemm_dim_t split::sliced() const {
    return (groups() - whole) * (tiles() * slices / sub_groups());
}

std::string split::text() const {
    std::string words;
    if (ranges > 1)
        words = zemm::text(", K in %lld ranges", (long long)ranges);
    if (slices > 1 && whole > 0)
        words += zemm::text(", the last %lld of %lld groups of %lld tiles in %lld slices of K",
                            (long long)(groups() - whole), (long long)groups(), (long long)tiles(),
                            (long long)slices);
    else if (slices > 1)
        words += zemm::text(ranges > 1 ? " of %lld slices" : ", K in %lld slices", (long long)slices);
    return words;
}

size_t local_bytes(const split &s, const kernel_row &row) {
    const int elements = row.rows_at_once * row.tile_n;
    return s.slices == 1 ? 0 : size_t(s.sub_groups()) * size_t(elements) * sizeof(float);
}

ze::gpu_model xe_model(const ze::device &dev) {
    if (dev.kind == zemm_gpu)
        return dev.model;
    ze::gpu_model small = {};
    small.xmx_int8_ops = 512;
    small.xmx_f16_ops = 256;
    small.threads_128 = small.threads_256 = 4;
    small.xe_cores = 2;
    small.xves_per_core = 8;
    small.l1_bytes_per_clock = 128;
    small.slm_per_core = small.slm_per_group = 64 << 10;
    return small;
}

} // namespace zemm::matmul
