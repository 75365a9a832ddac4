// SPDX-License-Identifier: Apache-2.0
#include "ggml/weights.hpp"

#include <type_traits>

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

template <typename T> const T *values_of(const group_values &values) {
    if constexpr (std::is_same_v<T, float>)
        return values.f32;
    else
        return values.f16;
}

// Reads row `first` + row of the tensor.
template <typename T>
void read_row(const shape &s, const bytes_of &from, zemm_dim_t first, zemm_dim_t row, const plain<T> &to) {
    const format &f = *s.form;
    const zemm_dim_t blocks = s.k / f.elements;
    uint8_t *codes = to.codes + row * s.k * f.bits() / 8, restored[most_bytes];
    parameters p;
    for (zemm_dim_t i = 0; i < blocks; ++i) {
        const uint8_t *block = restored;
        if (from.repacked)
            from.repacked->restore(from.data, first + row, i, blocks, restored);
        else
            block = from.data + size_t((first + row) * blocks + i) * size_t(f.bytes);
        f.read(block, p);
        read_codes(f, block, codes);
        codes += f.elements * f.bits() / 8;
        for (int g = 0; g < f.groups(); ++g) {
            const zemm_dim_t at = (i * f.groups() + g) * s.n + row;
            to.scales[at] = values_of<T>(p.scales)[g];
            if (to.offsets)
                to.offsets[at] = values_of<T>(p.offsets)[g];
        }
    }
}

template <typename T>
void read_rows(const team &threads, const shape &s, const bytes_of &from, zemm_dim_t first,
               const plain<T> &to) {
    threads.each(s.n, [&](zemm_dim_t row) { read_row<T>(s, from, first, row, to); });
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
