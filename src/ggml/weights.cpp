// SPDX-License-Identifier: Apache-2.0
#include "ggml/weights.hpp"

#include <algorithm>
#include <exception>
#include <thread>
#include <type_traits>
#include <vector>

namespace zemm_ggml {

namespace {

constexpr zemm_dim_t most_threads = 16; // that read blocks

void *data_of(zemm_memory_t memory) {
    void *data = nullptr;
    if (memory)
        check(zemm_memory_get_data_handle(memory, &data));
    return data;
}

void reorder(zemm_engine_t engine, zemm_stream_t stream, zemm_memory_t from, zemm_memory_t to) {
    const_zemm_memory_desc_t from_md, to_md;
    check(zemm_memory_get_memory_desc(from, &from_md));
    check(zemm_memory_get_memory_desc(to, &to_md));
    const auto pd = created<owned_pd>([&](zemm_primitive_desc_t *made) {
        return zemm_reorder_primitive_desc_create(made, from_md, engine, to_md, engine, nullptr);
    });
    const auto primitive = created<owned_primitive>(
        [&](zemm_primitive_t *made) { return zemm_primitive_create(made, pd.get()); });
    const zemm_exec_arg_t args[] = {{ZEMM_ARG_FROM, from}, {ZEMM_ARG_TO, to}};
    check(zemm_primitive_execute(primitive.get(), stream, 2, args));
    check(zemm_stream_wait(stream));
}

// A matrix: codes [N][K], scales and offsets [K / group][N] of the type T.
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

template <typename T>
void read_row(const shape &s, const uint8_t *block, zemm_dim_t row, const plain<T> &to) {
    const format &f = *s.form;
    uint8_t *codes = to.codes + row * s.k * f.bits() / 8;
    parameters p;
    for (zemm_dim_t group = 0; group < s.k / f.group; group += f.groups(), block += f.bytes) {
        f.read(block, p);
        read_codes(f, block, codes);
        codes += f.elements * f.bits() / 8;
        for (int g = 0; g < f.groups(); ++g) {
            to.scales[(group + g) * s.n + row] = values_of<T>(p.scales)[g];
            if (to.offsets)
                to.offsets[(group + g) * s.n + row] = values_of<T>(p.offsets)[g];
        }
    }
}

// Calls work(first, end) for parts of `count` items, on as many threads as there are CPUs, or as can be
// started.
template <typename F> void in_parallel(zemm_dim_t count, const F &work) {
    const zemm_dim_t parts = std::clamp<zemm_dim_t>(std::thread::hardware_concurrency(), 1, most_threads);
    std::vector<std::jthread> others;
    zemm_dim_t first = 0;
    try {
        for (zemm_dim_t part = 1; part < parts; ++part) {
            const zemm_dim_t end = count * part / parts;
            others.emplace_back([&work, first, end] { work(first, end); });
            first = end;
        }
    } catch (const std::exception &) {
    }
    work(first, count);
}

// The rows of all matrices.
template <typename T> void read(const shape &s, const blocks &from, const plain<T> &to) {
    const zemm_dim_t codes = s.k * s.n * s.form->bits() / 8, values = s.k / s.form->group * s.n;
    in_parallel(std::max<zemm_dim_t>(1, s.experts) * s.n, [&](zemm_dim_t first, zemm_dim_t end) {
        for (zemm_dim_t i = first; i < end; ++i) {
            const zemm_dim_t e = i / s.n, row = i % s.n;
            read_row<T>(s, from.data + size_t(e) * from.matrix_bytes + size_t(row) * from.row_bytes, row,
                        {to.codes + e * codes, to.scales + e * values,
                         to.offsets ? to.offsets + e * values : nullptr});
        }
    });
}

template <typename T>
void read_as(const shape &s, const blocks &from, uint8_t *codes, zemm_memory_t scales,
             zemm_memory_t offsets) {
    read<T>(s, from, {codes, static_cast<T *>(data_of(scales)), static_cast<T *>(data_of(offsets))});
}

} // namespace

weights::weights(zemm_engine_t engine, zemm_stream_t stream, const shape &s, const blocks &from,
                 std::vector<uint8_t> &codes)
    : shape_(s), primitives_(shared_primitives(engine, s)),
      packed_(memory_of(primitives_->packed(), engine, ZEMM_MEMORY_ALLOCATE)),
      scales_(memory_of(primitives_->parameters().get(), engine, ZEMM_MEMORY_ALLOCATE)) {
    if (s.form->has_offsets)
        offsets_ = memory_of(primitives_->parameters().get(), engine, ZEMM_MEMORY_ALLOCATE);
    const zemm_dim_t elements = std::max<zemm_dim_t>(1, s.experts) * s.k * s.n;
    const size_t bytes = size_t(elements * s.form->bits() / 8);
    if (codes.size() < bytes)
        codes.resize(bytes);
    (s.form->scales == zemm_f16 ? read_as<uint16_t> : read_as<float>)(s, from, codes.data(), scales_.get(),
                                                                      offsets_.get());
    const owned_memory plain_codes = memory_of(primitives_->plain().get(), engine, codes.data());
    reorder(engine, stream, plain_codes.get(), packed_.get());
}

void weights::write_codes(zemm_stream_t stream, uint8_t *to) const {
    const format &f = *shape_.form;
    const zemm_dim_t blocks = std::max<zemm_dim_t>(1, shape_.experts) * shape_.n * shape_.k / f.elements;
    const zemm_dim_t block_codes = f.elements * f.bits() / 8;
    const std::unique_ptr<uint8_t[]> codes(new uint8_t[size_t(blocks * block_codes)]);
    zemm_engine_t engine;
    check(zemm_memory_get_engine(packed_.get(), &engine));
    const owned_memory plain_codes = memory_of(primitives_->plain().get(), engine, codes.get());
    reorder(engine, stream, packed_.get(), plain_codes.get());
    for (zemm_dim_t block = 0; block < blocks; ++block)
        zemm_ggml::write_codes(f, codes.get() + block * block_codes, to + block * f.bytes);
}

} // namespace zemm_ggml
