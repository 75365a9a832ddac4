// SPDX-License-Identifier: Apache-2.0
#include "ggml/weights.hpp"

#include <algorithm>

namespace zemm_ggml {

namespace {

void *data_of(zemm_memory_t memory) {
    void *data = nullptr;
    if (memory)
        check(zemm_memory_get_data_handle(memory, &data));
    return data;
}

// Codes [N][K], scales and offsets [K / group][N] of the type T.
template <typename T> struct plain {
    uint8_t *codes;
    T *scales, *offsets; // offsets: may be null
};

// Rows and, of each, groups that are read at once. What restoring has written in small words is then read in
// large ones some time later, and parameters are written in rows, as they lie.
constexpr zemm_dim_t rows_at_once = 16, groups_at_once = 64;

template <typename T> void copy_row(const T (&from)[rows_at_once], zemm_dim_t count, T *to) {
    if (count == rows_at_once) // a constant: a few instructions
        std::copy_n(from, rows_at_once, to);
    else
        std::copy_n(from, count, to);
}

// Reads `count` rows from row `first` on of the shape, and from row `first` + offset on of the tensor.
template <typename T>
void read_some(const shape &s, const bytes_of &from, zemm_dim_t offset, zemm_dim_t first, zemm_dim_t count,
               const plain<T> &to) {
    const format &f = *s.form;
    const layout *const repacked = from.repacked;
    const zemm_dim_t in_row = s.k / f.elements, groups = f.groups();
    const zemm_dim_t rows = repacked ? repacked->rows_at_once() : 1,
                     stride = repacked ? zemm_dim_t(repacked->slot_bytes()) : f.bytes;
    T scales[groups_at_once][rows_at_once], offsets[groups_at_once][rows_at_once];
    uint8_t restored[groups_at_once * most_bytes];
    const zemm_dim_t at_once =
        std::min(groups_at_once / groups, zemm_dim_t(sizeof restored) / (rows * stride));
    for (zemm_dim_t block = 0; block < in_row; block += at_once) {
        const zemm_dim_t blocks = std::min(at_once, in_row - block);
        for (zemm_dim_t r = 0; r < count; ++r) {
            const zemm_dim_t row = offset + first + r;
            const uint8_t *next = from.data + size_t(row * in_row + block) * size_t(f.bytes);
            if (repacked) {
                if (r == 0 || row % rows == 0)
                    repacked->restore(from.data, row / rows * rows, block, blocks, in_row, restored);
                next = restored + row % rows * blocks * stride + repacked->lead();
            }
            uint8_t *codes = to.codes + ((first + r) * s.k + block * f.elements) * f.bits() / 8;
            read_blocks(f, next, stride, blocks, {codes, &scales[0][r], &offsets[0][r], rows_at_once});
        }
        for (zemm_dim_t g = 0; g < blocks * groups; ++g) {
            const zemm_dim_t at = (block * groups + g) * s.n + first;
            copy_row(scales[g], count, to.scales + at);
            if (to.offsets)
                copy_row(offsets[g], count, to.offsets + at);
        }
    }
}

template <typename T>
void read_rows(const team &threads, const shape &s, const bytes_of &from, zemm_dim_t offset,
               const plain<T> &to) {
    threads.each((s.n + rows_at_once - 1) / rows_at_once, [&](zemm_dim_t i) {
        const zemm_dim_t first = i * rows_at_once;
        read_some<T>(s, from, offset, first, std::min(rows_at_once, s.n - first), to);
    });
}

} // namespace

weights::weights(zemm_engine_t engine, const shape &s)
    : shape_(s), primitives_(engine, s),
      plain_(memory_of(primitives_.plain().get(), engine, ZEMM_MEMORY_NONE)),
      packed_(memory_of(primitives_.packed(), engine, ZEMM_MEMORY_ALLOCATE)),
      scales_(memory_of(primitives_.parameters().get(), engine, ZEMM_MEMORY_ALLOCATE)) {
    if (s.form->has_offsets)
        offsets_ = memory_of(primitives_.parameters().get(), engine, ZEMM_MEMORY_ALLOCATE);
}

void weights::fill(const team &threads, zemm_stream_t stream, const bytes_of &from, zemm_dim_t first,
                   std::vector<uint8_t> &codes) {
    const size_t bytes = size_t(shape_.k * shape_.n * shape_.form->bits() / 8);
    if (codes.size() < bytes)
        codes.resize(bytes);
    void *const scales = data_of(scales_.get()), *const offsets = data_of(offsets_.get());
    if (shape_.form->scales == zemm_f16)
        read_rows<uint16_t>(
            threads, shape_, from, first,
            {codes.data(), static_cast<uint16_t *>(scales), static_cast<uint16_t *>(offsets)});
    else
        read_rows<float>(threads, shape_, from, first,
                         {codes.data(), static_cast<float *>(scales), static_cast<float *>(offsets)});
    check(zemm_memory_set_data_handle(plain_.get(), codes.data()));
    const zemm_exec_arg_t args[] = {{ZEMM_ARG_FROM, plain_.get()}, {ZEMM_ARG_TO, packed_.get()}};
    check(zemm_primitive_execute(primitives_.pack(), stream, 2, args));
}

} // namespace zemm_ggml
