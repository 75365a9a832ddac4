// SPDX-License-Identifier: Apache-2.0
#include "ggml/calls.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>
#include <utility>

namespace zemm_ggml {

namespace {

constexpr size_t most_prepared = 256; // of a model: its shapes of weights, times a few numbers of rows
constexpr size_t most_weights = 8;    // shapes whose memory is kept
constexpr zemm_dim_t most_elements_at_once = zemm_dim_t(4) << 20; // of weights that are packed at once
constexpr zemm_dim_t columns = 128;                               // parts of N are multiples of them

void place(const owned_memory &memory, void *data) {
    if (memory)
        check(zemm_memory_set_data_handle(memory.get(), data));
}

// The columns that are packed at once.
zemm_dim_t columns_at_once(const matrix &m) {
    return std::min(m.n, std::max<zemm_dim_t>(1, most_elements_at_once / m.k / columns) * columns);
}

constexpr size_t line = 64; // bytes

size_t rounded(size_t bytes) {
    return (bytes + line - 1) / line * line;
}

uint64_t mixed(uint64_t digest, uint64_t word) {
    return std::rotl((digest ^ word) * 0x9e3779b97f4a7c15, 29);
}

// Of all bytes.
uint64_t digest_of(const team &threads, std::span<const uint8_t> bytes) {
    constexpr size_t part = size_t(1) << 16;
    std::vector<uint64_t> parts((bytes.size() + part - 1) / part);
    threads.each(int64_t(parts.size()), [&](int64_t i) {
        const auto some = bytes.subspan(size_t(i) * part, std::min(part, bytes.size() - size_t(i) * part));
        // Four sums, which do not wait for each other.
        uint64_t sums[4] = {}, word;
        for (size_t at = 0; at < some.size(); at += sizeof word) {
            word = 0;
            std::memcpy(&word, &some[at], std::min(sizeof word, some.size() - at));
            uint64_t &sum = sums[at / sizeof word % 4];
            sum = mixed(sum, word);
        }
        for (const uint64_t sum : sums)
            parts[size_t(i)] = mixed(parts[size_t(i)], sum);
    });
    uint64_t digest = 0;
    for (const uint64_t one : parts)
        digest = mixed(digest, one);
    return digest;
}

const float *end_of(const rows &r, zemm_dim_t width) {
    return r.data + (r.count - 1) * r.stride + width;
}

bool overlap(const rows &a, zemm_dim_t a_width, const rows &b, zemm_dim_t b_width) {
    return a.data < end_of(b, b_width) && b.data < end_of(a, a_width);
}

} // namespace

struct calls::quantized {
    std::byte *values, *scales, *sums;
};

calls::calls(zemm_engine_t engine, bool keeps_weights)
    : engine_(engine), own_stream_(created<owned_stream>([&](zemm_stream_t *stream) {
          return zemm_stream_create(stream, engine, zemm_stream_default_flags);
      })),
      lent_stream_(created<owned_stream>([&](zemm_stream_t *stream) {
          const zemm_threadpool_t pool = {
              [](void *self) { return static_cast<calls *>(self)->threads().threads(); },
              [](void *self, int n, void (*work)(int, int, void *), void *argument) {
                  static_cast<calls *>(self)->threads().each(n,
                                                             [&](int64_t i) { work(int(i), n, argument); });
              },
              this};
          return zemm_threadpool_interop_stream_create(stream, engine, &pool);
      })),
      keeps_weights_(keeps_weights) {}

void calls::compute_with(const team &threads) {
    wait();
    team_ = &threads;
    stream_ = (threads.waits() ? lent_stream_ : own_stream_).get();
}

// What `rows` rows have, from row `first` on.
calls::quantized calls::parts(const weights &w, zemm_dim_t rows, zemm_dim_t first) {
    const zemm_dim_t k = w.dims().k, groups = k / w.of().src_group();
    const zemm_dim_t sums = w.of().sums_group() ? k / w.of().sums_group() : 0;
    const size_t values_bytes = rounded(size_t(rows * k)), scales_bytes = rounded(size_t(rows * groups) * 4);
    const size_t bytes = values_bytes + scales_bytes + size_t(rows * sums) * 4 + line;
    if (scratch_.size() < bytes) {
        wait(); // for work that uses it
        scratch_ = {};
        scratch_.resize(bytes + bytes / 4);
    }
    std::byte *const begin =
        scratch_.data() + (line - reinterpret_cast<uintptr_t>(scratch_.data()) % line) % line;
    return {begin + first * k, begin + values_bytes + first * groups * 4,
            begin + values_bytes + scales_bytes + first * sums * 4};
}

const calls::prepared &calls::prepare(const weights &w, const rows &src, const rows &dst) {
    const prepared_key key{w.dims(), src.count, src.stride, dst.stride};
    const auto found = prepared_.find(key);
    if (found != prepared_.end())
        return found->second;
    const auto &[form, k, n] = w.dims();
    const zemm_dim_t count = src.count, group = w.of().src_group(), sums_group = w.of().sums_group();
    const auto memory = [&](const owned_md &md) { return memory_of(md.get(), engine_, ZEMM_MEMORY_NONE); };
    prepared made;
    made.src = memory(strided({count, k}, zemm_f32, {src.stride, 1}));
    made.values = memory(dense({count, k}, zemm_s8));
    made.scales = memory(dense({count, k / group}, zemm_f32));
    if (sums_group)
        made.sums = memory(dense({count, k / sums_group}, zemm_s32));
    made.dst = memory(strided({count, n}, zemm_f32, {dst.stride, 1}));
    if (prepared_.size() >= most_prepared)
        prepared_.clear();
    return prepared_[key] = std::move(made);
}

void calls::place_quantized(const prepared &p, const quantized &at) {
    place(p.values, at.values);
    place(p.scales, at.scales);
    place(p.sums, at.sums);
}

// All of src, once for products that follow each other.
void calls::quantize(const weights &w, const product &one) {
    const zemm_dim_t k = w.dims().k, group = w.of().src_group(), sums_group = w.of().sums_group();
    const rows &src = one.src;
    const auto &[from_, k_, group_, sums_group_] = quantized_;
    if (from_.data == src.data && from_.count == src.count && from_.stride == src.stride && k_ == k &&
        group_ == group && (sums_group_ == sums_group || !sums_group))
        return;
    quantized_ = {};
    const prepared &p = prepare(w, src, one.dst);
    place(p.src, src.data);
    place_quantized(p, parts(w, src.count, 0));
    const zemm_exec_arg_t args[] = {{ZEMM_ARG_FROM, p.src.get()},
                                    {ZEMM_ARG_TO, p.values.get()},
                                    {ZEMM_ARG_ATTR_SCALES | ZEMM_ARG_DST, p.scales.get()},
                                    {ZEMM_ARG_ATTR_PRECOMPUTED_REDUCTIONS | ZEMM_ARG_DST, p.sums.get()}};
    check(zemm_primitive_execute(w.of().quantize(), stream_, p.sums ? 4 : 3, args));
    quantized_ = {src, k, group, sums_group};
}

const weights &calls::pack(const matrix &m, zemm_dim_t first, const shape &s) {
    check(zemm_stream_wait(stream_)); // for products by weights in the same memory
    if (weights_.size() >= most_weights && !weights_.contains(s))
        weights_.clear();
    weights &part = weights_.try_emplace(s, engine_, s).first->second;
    part.fill(threads(), stream_, m.bytes, first, codes_);
    return part;
}

const weights &calls::keep(const matrix &m, zemm_dim_t first, const shape &s) {
    const size_t row_bytes = size_t(s.k / s.form->elements * s.form->bytes);
    const uint64_t digest = digest_of(threads(), m.bytes.of_rows(first, s.n, row_bytes));
    const kept_key key{m.bytes.data, first, s};
    const auto found = kept_.find(key);
    if (found != kept_.end() && found->second.digest == digest)
        return found->second.packed;
    check(zemm_stream_wait(stream_)); // for products by old weights, and for the codes
    kept_.erase(key);
    kept made{weights(engine_, s), digest};
    made.packed.fill(threads(), stream_, m.bytes, first, codes_);
    return kept_.emplace(key, std::move(made)).first->second.packed;
}

void calls::multiply(const matrix &m, const std::vector<product> &products) {
    const zemm_dim_t most = columns_at_once(m);
    for (zemm_dim_t n = 0; n < m.n; n += most) {
        const shape s{m.form, m.k, std::min(most, m.n - n)};
        const weights &part = keeps_weights_ ? keep(m, m.first + n, s) : pack(m, m.first + n, s);
        for (const product &one : products)
            multiply_part(part, one, {one.dst.data + n, one.dst.count, one.dst.stride});
    }
    for (const product &one : products)
        if (quantized_.group && overlap(quantized_.from, m.k, one.dst, m.n))
            quantized_ = {};
}

void calls::multiply_part(const weights &w, const product &one, const rows &dst) {
    quantize(w, one);
    const rows &src = one.src;
    const prepared &p = prepare(w, {src.data, dst.count, src.stride}, dst);
    place_quantized(p, parts(w, src.count, one.first));
    place(p.dst, dst.data);
    const zemm_exec_arg_t args[] = {{ZEMM_ARG_SRC, p.values.get()},
                                    {ZEMM_ARG_WEIGHTS, w.packed()},
                                    {ZEMM_ARG_DST, p.dst.get()},
                                    {ZEMM_ARG_ATTR_SCALES | ZEMM_ARG_SRC, p.scales.get()},
                                    {ZEMM_ARG_ATTR_SCALES | ZEMM_ARG_WEIGHTS, w.scales()},
                                    {ZEMM_ARG_ATTR_OFFSETS | ZEMM_ARG_WEIGHTS, w.offsets()},
                                    {ZEMM_ARG_ATTR_PRECOMPUTED_REDUCTIONS | ZEMM_ARG_SRC, p.sums.get()}};
    check(zemm_primitive_execute(w.of().matmul(), stream_, p.sums ? 7 : 5, args));
}

float *calls::rows_of_experts(quiet, zemm_dim_t elements) {
    if (rows_.size() < size_t(elements)) {
        rows_ = {};
        rows_.resize(size_t(elements));
    }
    return rows_.data();
}

quiet calls::wait() {
    quantized_ = {}; // the host may write to src now
    check(zemm_stream_wait(stream_));
    return {};
}

void calls::give_up() noexcept {
    quantized_ = {};
    zemm_stream_wait(stream_);
}

} // namespace zemm_ggml
