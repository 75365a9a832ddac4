// SPDX-License-Identifier: Apache-2.0
#include "weights.hpp"

#include <algorithm>
#include <vector>

namespace zemm_ggml {

namespace {

constexpr zemm_dim_t tile = 16; // rows of N whose parameters are written together: a line of the cache

owned_memory memory_of(const_zemm_memory_desc_t md, zemm_engine_t engine, void *handle) {
    return created<owned_memory>(
        [&](zemm_memory_t *made) { return zemm_memory_create(made, md, engine, handle); });
}

float *data_of(zemm_memory_t memory) {
    void *data = nullptr;
    if (memory)
        check(zemm_memory_get_data_handle(memory, &data));
    return static_cast<float *>(data);
}

void reorder(zemm_engine_t engine, zemm_stream_t stream, zemm_memory_t from, zemm_memory_t to) {
    const_zemm_memory_desc_t from_md, to_md;
    check(zemm_memory_get_memory_desc(from, &from_md));
    check(zemm_memory_get_memory_desc(to, &to_md));
    const auto pd = created<owned_pd>([&](zemm_primitive_desc_t *made) {
        return zemm_reorder_primitive_desc_create(made, from_md, engine, to_md, engine, nullptr);
    });
    const auto primitive =
        created<owned_primitive>([&](zemm_primitive_t *made) { return zemm_primitive_create(made, pd.get()); });
    const zemm_exec_arg_t args[] = {{ZEMM_ARG_FROM, from}, {ZEMM_ARG_TO, to}};
    check(zemm_primitive_execute(primitive.get(), stream, 2, args));
    check(zemm_stream_wait(stream));
}

// One matrix: codes [N][K], scales and offsets [K / group][N].
struct plain {
    uint8_t *codes;
    float *scales, *offsets; // offsets: null without minimums
};

void read_row(const shape &s, const uint8_t *block, zemm_dim_t row, const plain &to) {
    const format &f = *s.form;
    uint8_t *codes = to.codes + row * s.k * f.bits() / 8;
    parameters p;
    for (zemm_dim_t group = 0; group < s.k / f.group; group += f.groups(), block += f.bytes) {
        f.read(block, p);
        read_codes(f, block, codes);
        codes += f.elements * f.bits() / 8;
        for (int g = 0; g < f.groups(); ++g) {
            to.scales[(group + g) * s.n + row] = p.scales[g];
            if (to.offsets)
                to.offsets[(group + g) * s.n + row] = -p.minimums[g];
        }
    }
}

void read_matrix(const shape &s, const uint8_t *data, size_t row_bytes, const plain &to) {
    for (zemm_dim_t row = 0; row < s.n; ++row)
        read_row(s, data + size_t(row) * row_bytes, row, to);
}

} // namespace

weights::weights(zemm_engine_t engine, zemm_stream_t stream, const shape &s, const blocks &from)
    : shape_(s), primitives_(shared_primitives(engine, s)),
      packed_(memory_of(primitives_->packed(), engine, ZEMM_MEMORY_ALLOCATE)),
      scales_(memory_of(primitives_->parameters().get(), engine, ZEMM_MEMORY_ALLOCATE)) {
    if (s.form->has_minimums)
        offsets_ = memory_of(primitives_->parameters().get(), engine, ZEMM_MEMORY_ALLOCATE);
    const zemm_dim_t matrices = std::max<zemm_dim_t>(1, s.experts), groups = s.k / s.form->group;
    const zemm_dim_t matrix_codes = s.k * s.n * s.form->bits() / 8;
    const std::unique_ptr<uint8_t[]> codes(new uint8_t[size_t(matrices * matrix_codes)]);
    float *const scales = data_of(scales_.get()), *const offsets = data_of(offsets_.get());
    for (zemm_dim_t e = 0; e < matrices; ++e) {
        const zemm_dim_t at = e * groups * s.n;
        read_matrix(s, from.data + size_t(e) * from.matrix_bytes, from.row_bytes,
                    {codes.get() + e * matrix_codes, scales + at, offsets ? offsets + at : nullptr});
    }
    const owned_memory plain_codes = memory_of(primitives_->plain().get(), engine, codes.get());
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
