// SPDX-License-Identifier: Apache-2.0
#include "ggml/calls.hpp"

namespace zemm_ggml {

namespace {

owned_memory grouped_memory(zemm_engine_t engine, zemm_dim_t rows, zemm_dim_t columns, zemm_data_type_t type,
                            zemm_dim_t count, void *data, const int32_t *ends) {
    const owned_md md = in_groups(rows, columns, type, count);
    void *handles[] = {data, const_cast<int32_t *>(ends)};
    return created<owned_memory>(
        [&](zemm_memory_t *made) { return zemm_memory_create_v2(made, md.get(), engine, 2, handles); });
}

constexpr size_t line = 64; // bytes

size_t rounded(size_t bytes) {
    return (bytes + line - 1) / line * line;
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

calls::calls(zemm_engine_t engine)
    : engine_(engine), stream_(created<owned_stream>([&](zemm_stream_t *stream) {
          return zemm_stream_create(stream, engine, zemm_stream_default_flags);
      })) {}

calls::quantized calls::parts(const weights &w, zemm_dim_t rows) {
    const zemm_dim_t k = w.dims().k, groups = k / w.of().src_group();
    const zemm_dim_t sums = w.of().sums_group() ? k / w.of().sums_group() : 0;
    const size_t values_bytes = rounded(size_t(rows * k)), scales_bytes = rounded(size_t(rows * groups) * 4);
    const size_t bytes = values_bytes + scales_bytes + size_t(rows * sums) * 4 + line;
    if (scratch_.size() < bytes) {
        wait(); // for work that uses it
        scratch_ = {};
        scratch_.resize(bytes + bytes / 4);
    }
    std::byte *const first =
        scratch_.data() + (line - reinterpret_cast<uintptr_t>(scratch_.data()) % line) % line;
    return {first, first + values_bytes, first + values_bytes + scales_bytes};
}

void calls::quantize(const weights &w, const rows &src) {
    const primitives &p = w.of();
    const auto &[from_, k_, group, sums_group] = quantized_;
    if (from_.data == src.data && from_.count == src.count && from_.stride == src.stride &&
        k_ == w.dims().k && group == p.src_group() && (sums_group == p.sums_group() || !p.sums_group()))
        return;
    quantized_ = {};
    const quantized to = parts(w, src.count);
    const zemm_dim_t k = w.dims().k, rows = src.count;
    const owned_memory from =
        memory_of(strided({rows, k}, zemm_f32, {src.stride, 1}).get(), engine_, src.data);
    const owned_memory values = memory_of(dense({rows, k}, zemm_s8).get(), engine_, to.values);
    const owned_memory scales =
        memory_of(dense({rows, k / p.src_group()}, zemm_f32).get(), engine_, to.scales);
    owned_memory sums;
    if (p.sums_group())
        sums = memory_of(dense({rows, k / p.sums_group()}, zemm_s32).get(), engine_, to.sums);
    const zemm_exec_arg_t args[] = {{ZEMM_ARG_FROM, from.get()},
                                    {ZEMM_ARG_TO, values.get()},
                                    {ZEMM_ARG_ATTR_SCALES | ZEMM_ARG_DST, scales.get()},
                                    {ZEMM_ARG_ATTR_PRECOMPUTED_REDUCTIONS | ZEMM_ARG_DST, sums.get()}};
    check(zemm_primitive_execute(p.quantize(), stream_.get(), sums ? 4 : 3, args));
    quantized_ = {src, k, p.src_group(), p.sums_group()};
}

void calls::multiply(const weights &w, const rows &src, const rows &dst) {
    quantize(w, src);
    const auto &[form, experts, k, n] = w.dims();
    std::byte *const values = parts(w, src.count).values;
    execute(w, w.of().matmul(), src.count, memory_of(dense({src.count, k}, zemm_s8).get(), engine_, values),
            memory_of(strided({src.count, n}, zemm_f32, {dst.stride, 1}).get(), engine_, dst.data));
    if (overlap(src, k, dst, n))
        quantized_ = {};
}

void calls::multiply_groups(const weights &w, const rows &src, const rows &dst, const int32_t *ends) {
    quantize(w, src);
    const auto &[form, experts, k, n] = w.dims();
    std::byte *const values = parts(w, src.count).values;
    execute(w, w.of().grouped(src.count).get(), src.count,
            grouped_memory(engine_, src.count, k, zemm_s8, experts, values, ends),
            grouped_memory(engine_, src.count, n, zemm_f32, experts, dst.data, ends));
}

void calls::execute(const weights &w, zemm_primitive_t matmul, zemm_dim_t count, owned_memory values,
                    owned_memory dst) {
    const primitives &p = w.of();
    const quantized from = parts(w, count);
    const zemm_dim_t k = w.dims().k;
    const owned_memory scales =
        memory_of(dense({count, k / p.src_group()}, zemm_f32).get(), engine_, from.scales);
    owned_memory sums;
    if (p.sums_group())
        sums = memory_of(dense({count, k / p.sums_group()}, zemm_s32).get(), engine_, from.sums);
    const zemm_exec_arg_t args[] = {{ZEMM_ARG_SRC, values.get()},
                                    {ZEMM_ARG_WEIGHTS, w.packed()},
                                    {ZEMM_ARG_DST, dst.get()},
                                    {ZEMM_ARG_ATTR_SCALES | ZEMM_ARG_SRC, scales.get()},
                                    {ZEMM_ARG_ATTR_SCALES | ZEMM_ARG_WEIGHTS, w.scales()},
                                    {ZEMM_ARG_ATTR_OFFSETS | ZEMM_ARG_WEIGHTS, w.offsets()},
                                    {ZEMM_ARG_ATTR_PRECOMPUTED_REDUCTIONS | ZEMM_ARG_SRC, sums.get()}};
    check(zemm_primitive_execute(matmul, stream_.get(), sums ? 7 : 5, args));
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
    check(zemm_stream_wait(stream_.get()));
    return {};
}

void calls::give_up() noexcept {
    quantized_ = {};
    zemm_stream_wait(stream_.get());
}

} // namespace zemm_ggml
